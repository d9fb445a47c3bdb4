#include "report/result_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "measure/statistics/intervals.h"
#include "policy/policy_text.h"

namespace aoe {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;  // sorts keys, as readers of these files expect

// Times in microseconds and in milliseconds, rounded to nanoseconds.
double rounded(double value, double steps) { return std::round(value * steps) / steps; }
double to_us(double ns) { return rounded(ns / 1e3, 1e3); }
double to_ms(double ns) { return rounded(ns / 1e6, 1e6); }

double improvement_percent(double before, double after) { return 100 * (before - after) / after; }

// JSON has no infinities and NaNs, and readers expect numbers, not null. A field whose value is not
// finite is omitted, for example the upper bound of a speed-up if too few pairs were measured.
void set_number(Json& object, const char* field, double value) {
  if (std::isfinite(value)) object[field] = value;
}
void set_improvement(Json& object, const char* field, double before, double after) {
  if (std::isfinite(improvement_percent(before, after))) {
    object[field] = improvement_text(before, after);
  }
}

std::string_view state_text(TuningOutcome::State state) {
  switch (state) {
    case TuningOutcome::State::incomplete: return "tune tuning incomplete";
    case TuningOutcome::State::successful: return "tuning successful";
    case TuningOutcome::State::failed: return "tuning failed";
  }
  return "";
}

Json evidence_of(const Gain& gain, double margin) {
  Json evidence{{"samples", gain.samples}, {"confidence", kConfidence}, {"margin", margin}};
  set_number(evidence, "speedup_low", gain.speedup_low);
  set_number(evidence, "speedup_high", gain.speedup_high);
  set_number(evidence, "noise_floor", gain.noise_floor);
  return evidence;
}

Json json_of(const Explanation& why) {
  Json decisions = Json::array();
  for (const DecisionLoss& one : why.decisions) {
    Json decision{{"decision", one.decision}, {"before", one.before}, {"after", one.after}};
    if (one.loss) set_number(decision, "loss", rounded(*one.loss, 1e3));
    decisions.push_back(std::move(decision));
  }
  Json explanation{{"bound_by", why.after.by_operations ? "operations" : "bytes"},
                   {"decisions", std::move(decisions)}};
  set_number(explanation, "roof_share_before", rounded(why.before.share, 1e3));
  set_number(explanation, "roof_share_after", rounded(why.after.share, 1e3));
  return explanation;
}

Json json_of(const OperatorOutcome& tuned) {
  Json evidence = evidence_of(tuned.gain, tuned.margin);
  evidence["measurements"] = tuned.measurements;
  evidence["policy_before"] = tuned.policy_before;
  evidence["policy_after"] = tuned.policy_after;
  evidence["numerics"] = name(numerics_of(tuned.policy_after));
  if (tuned.why) evidence.update(json_of(*tuned.why));
  const double before_us = to_us(tuned.gain.before_ns);
  const double after_us = to_us(tuned.gain.after_ns);
  Json performance{{"update_mode", tuned.tuned == Tuned::update ? "update" : "add"}};
  set_number(performance, "performance_before_tune(us)", before_us);
  set_number(performance, "performance_after_tune(us)", after_us);
  set_improvement(performance, "performance_improvement", before_us, after_us);
  return {{"op_name", tuned.name},
          {"op_type", tuned.types.size() == 1 ? Json(tuned.types[0]) : Json(tuned.types)},
          {"tune_performance", {{name(tuned.mode), performance}}},
          {"evidence", evidence}};
}

Json json_of(const TunedCounts& counts) {
  return {{"repo_add_num", counts.add},           {"repo_hit_num", counts.hit()},
          {"repo_reserved_num", counts.reserved}, {"repo_unsatisfied_num", counts.unsatisfied},
          {"repo_update_num", counts.update},     {"total_num", counts.total()}};
}

Json opat_of(const TuningOutcome& outcome) {
  const bool ended = outcome.state != TuningOutcome::State::incomplete;
  Json opat{{"opat_tuning_result", state_text(outcome.state)},
            {"repo_modified_operators", Json::array()},
            {"repo_summary", json_of(outcome.counts)}};
  if (outcome.layouts) opat["repo_modified_operators"].push_back(json_of(*outcome.layouts));
  for (const OperatorOutcome& tuned : outcome.operators) {
    opat["repo_modified_operators"].push_back(json_of(tuned));
  }
  if (outcome.baseline_ns) {
    set_number(opat, "model_baseline_performance(ms)", to_ms(*outcome.baseline_ns));
  }
  if (ended && outcome.model) {
    const double before_ms = to_ms(outcome.model->before_ns);
    const double after_ms = to_ms(outcome.model->after_ns);
    set_number(opat, "model_baseline_performance(ms)", before_ms);
    set_number(opat, "model_result_performance(ms)", after_ms);
    set_improvement(opat, "model_performance_improvement", before_ms, after_ms);
  }
  if (const auto& gain = outcome.model ? outcome.model : outcome.unproven_model; ended && gain) {
    Json evidence = evidence_of(*gain, outcome.margin);
    evidence["proven"] = outcome.model.has_value();
    set_number(evidence, "speedup", rounded(gain->before_ns / gain->after_ns, 1e4));
    opat["evidence"] = std::move(evidence);
  }
  if (outcome.state == TuningOutcome::State::failed) {
    opat["tuning_failed_operators"] = outcome.failed_operators;
  }
  return opat;
}

}  // namespace

std::string improvement_text(double before, double after) {
  return fmt::format("{:.2f}%", improvement_percent(before, after));
}

std::string result_text(const TuningOutcome& outcome) {
  Json basic{{"tuning_name", outcome.name}};
  // NaN and what no integer can represent would be rounded to an arbitrary number.
  constexpr double kMostSeconds = 0x1p62;
  if (outcome.state != TuningOutcome::State::incomplete &&
      std::abs(outcome.seconds) <= kMostSeconds) {
    basic["tuning_time(s)"] = std::llround(outcome.seconds);
  }
  if (!outcome.journal.empty()) basic["evidence"]["journal"] = outcome.journal.string();
  Json all = Json::array({{{"basic", basic}}});
  if (outcome.has_operators) all.push_back({{"OPAT", opat_of(outcome)}});
  // Names of nodes may be any bytes.
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

ResultFile::ResultFile(const fs::path& folder, SystemTime started, bool auto_tune)
    : file_(folder / fmt::format("{}_{}_pid{}.json", auto_tune ? "tune_result" : "aoe_result_opat",
                                 timestamp_text(started), getpid())) {}

void ResultFile::write(const TuningOutcome& outcome) const {
  try {
    replace_file(file_, [&](const File& temporary) {
      require(write_all(temporary, result_text(outcome)), "it cannot be written: {}",
              std::strerror(errno));
    });
  } catch (const Error& error) {
    throw error.within(fmt::format("result file '{}'", file_.string()));
  }
}

}  // namespace aoe
