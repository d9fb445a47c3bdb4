// Writes the result file of an arbitrary outcome: names of any bytes, numbers that are infinite or
// NaN, empty lists. The file must be valid JSON in UTF-8, without null, and must have the fields of
// docs/result-file.md.

#include <fuzzer/FuzzedDataProvider.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "fuzz/scratch_file.h"
#include "report/result_file.h"

namespace {

using Json = nlohmann::json;
using Provider = FuzzedDataProvider;
using State = aoe::TuningOutcome::State;

// Lists have at most this many elements, texts this many bytes: more of them test nothing new.
constexpr size_t kMost = 4;
constexpr size_t kLongest = 64;

void expect(bool holds) {
  if (!holds) std::abort();
}

// --- an outcome from bytes ---------------------------------------------------------------------

double number(Provider& bytes) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kLargest = std::numeric_limits<double>::max();
  const double special[] = {kNaN, kInfinity, -kInfinity, 0, -0.0, 0.3, kLargest, -kLargest};
  if (bytes.ConsumeBool()) return bytes.PickValueInArray(special);
  return std::bit_cast<double>(bytes.ConsumeIntegral<uint64_t>());
}

std::string text(Provider& bytes) { return bytes.ConsumeRandomLengthString(kLongest); }

// As many as there can be workloads, and far from an overflow of their sum.
int count(Provider& bytes) { return bytes.ConsumeIntegralInRange(0, 1 << 24); }

template <class Make>
auto list(Provider& bytes, const Make& make) {
  std::vector<decltype(make(bytes))> made;
  const auto size = bytes.ConsumeIntegralInRange<size_t>(0, kMost);
  for (size_t i = 0; i < size; ++i) made.push_back(make(bytes));
  return made;
}

template <class Make>
auto maybe(Provider& bytes, const Make& make) {
  std::optional<decltype(make(bytes))> made;
  if (bytes.ConsumeBool()) made = make(bytes);
  return made;
}

aoe::Gain gain(Provider& bytes) {
  return {.before_ns = number(bytes),
          .after_ns = number(bytes),
          .speedup_low = number(bytes),
          .speedup_high = number(bytes),
          .noise_floor = number(bytes),
          .samples = bytes.ConsumeIntegral<int64_t>()};
}

aoe::Roofline roofline(Provider& bytes) {
  return {.by_operations = bytes.ConsumeBool(), .rate = number(bytes), .share = number(bytes)};
}

aoe::DecisionLoss decision(Provider& bytes) {
  return {
      .decision = text(bytes), .before = text(bytes), .after = text(bytes), .loss = number(bytes)};
}

aoe::Explanation explanation(Provider& bytes) {
  return {.before = roofline(bytes), .after = roofline(bytes), .decisions = list(bytes, decision)};
}

aoe::OperatorOutcome tuned_operator(Provider& bytes) {
  aoe::OperatorOutcome tuned{
      .name = text(bytes),
      .types = list(bytes, text),
      .mode = bytes.PickValueInArray(
          {aoe::TuningMode::impl, aoe::TuningMode::format, aoe::TuningMode::schedule}),
      .tuned = bytes.PickValueInArray({aoe::Tuned::add, aoe::Tuned::update}),
      .gain = gain(bytes),
      .policy_before = text(bytes),
      .policy_after = text(bytes),
      .why = maybe(bytes, explanation)};
  for (std::string& name : list(bytes, text)) tuned.measurements.insert(std::move(name));
  return tuned;
}

aoe::TuningOutcome arbitrary_outcome(Provider& bytes) {
  return {.name = text(bytes),
          .state = bytes.PickValueInArray({State::incomplete, State::successful, State::failed}),
          .seconds = number(bytes),
          .baseline_ns = maybe(bytes, number),
          .model = maybe(bytes, gain),
          .operators = list(bytes, tuned_operator),
          .layouts = maybe(bytes, tuned_operator),
          .counts = {.add = count(bytes),
                     .update = count(bytes),
                     .reserved = count(bytes),
                     .unsatisfied = count(bytes)},
          .failed_operators = list(bytes, text),
          .has_operators = bytes.ConsumeBool()};
}

// --- what the file must contain ----------------------------------------------------------------

void expect_no_null(const Json& value) {
  expect(!value.is_null());
  if (value.is_structured()) {
    for (const Json& part : value) expect_no_null(part);
  }
}

// A field with a text: unchanged, if it is valid UTF-8.
void expect_text(const Json& written, const std::string& text) {
  expect(written.is_string());
  expect(!aoe::is_utf8(text) || written == text);
}

void expect_texts(const Json& written, const std::vector<std::string>& texts) {
  expect(written.is_array() && written.size() == texts.size());
  for (size_t i = 0; i < texts.size(); ++i) expect_text(written[i], texts[i]);
}

// A field with a number: omitted if it is not finite. Near the largest double it may be omitted
// too, because it is scaled before it is rounded.
void expect_number(const Json& object, const char* field, double value) {
  constexpr double kScalable = 1e300;
  if (object.contains(field)) expect(std::isfinite(value) && object[field].is_number());
  else expect(!(std::abs(value) < kScalable));
}

// An improvement, if it is finite: "0.31%".
void expect_improvement(const Json& object, const char* field) {
  if (!object.contains(field)) return;
  const auto text = object[field].get<std::string>();
  expect(text.ends_with('%') && std::isfinite(std::strtod(text.c_str(), nullptr)));
}

void expect_gain(const Json& evidence, const aoe::Gain& gain) {
  expect(evidence.at("samples") == gain.samples);
  expect_number(evidence, "speedup_low", gain.speedup_low);
  expect_number(evidence, "speedup_high", gain.speedup_high);
  expect_number(evidence, "noise_floor", gain.noise_floor);
}

void expect_explanation(const Json& evidence, const aoe::Explanation& why) {
  expect(evidence.at("bound_by") == (why.after.by_operations ? "operations" : "bytes"));
  expect_number(evidence, "roof_share_before", why.before.share);
  expect_number(evidence, "roof_share_after", why.after.share);
  const Json& decisions = evidence.at("decisions");
  expect(decisions.size() == why.decisions.size());
  for (size_t i = 0; i < decisions.size(); ++i) {
    expect_text(decisions[i].at("decision"), why.decisions[i].decision);
    expect_text(decisions[i].at("before"), why.decisions[i].before);
    expect_text(decisions[i].at("after"), why.decisions[i].after);
    expect_number(decisions[i], "loss", why.decisions[i].loss);
  }
}

void expect_operator(const Json& written, const aoe::OperatorOutcome& tuned) {
  expect_text(written.at("op_name"), tuned.name);
  if (tuned.types.size() == 1) expect_text(written.at("op_type"), tuned.types[0]);
  else expect_texts(written.at("op_type"), tuned.types);
  expect(written.at("tune_performance").size() == 1);
  const auto mode = written["tune_performance"].begin();
  expect(mode.key() == "Impl" || mode.key() == "Format" || mode.key() == "Schedule");
  expect_number(*mode, "performance_before_tune(us)", tuned.gain.before_ns);
  expect_number(*mode, "performance_after_tune(us)", tuned.gain.after_ns);
  expect_improvement(*mode, "performance_improvement");
  expect(mode->at("update_mode") == (tuned.tuned == aoe::Tuned::add ? "add" : "update"));
  const Json& evidence = written.at("evidence");
  expect_gain(evidence, tuned.gain);
  expect_texts(evidence.at("measurements"), {tuned.measurements.begin(), tuned.measurements.end()});
  expect_text(evidence.at("policy_before"), tuned.policy_before);
  expect_text(evidence.at("policy_after"), tuned.policy_after);
  expect(evidence.at("numerics").is_string());
  if (tuned.why) expect_explanation(evidence, *tuned.why);
}

void expect_opat(const Json& opat, const aoe::TuningOutcome& outcome) {
  const bool failed = outcome.state == State::failed;
  expect(opat.at("opat_tuning_result").is_string());
  expect(opat.contains("tuning_failed_operators") == failed);
  if (failed) expect_texts(opat["tuning_failed_operators"], outcome.failed_operators);
  if (outcome.model && outcome.state != State::incomplete) {
    expect_number(opat, "model_result_performance(ms)", outcome.model->after_ns);
    expect_improvement(opat, "model_performance_improvement");
    expect_gain(opat.at("evidence"), *outcome.model);
  } else {
    expect(!opat.contains("model_result_performance(ms)"));
    expect(!opat.contains("model_performance_improvement"));
    if (outcome.baseline_ns) {
      expect_number(opat, "model_baseline_performance(ms)", *outcome.baseline_ns);
    }
  }
  std::vector<aoe::OperatorOutcome> modified = outcome.operators;
  if (outcome.layouts) modified.insert(modified.begin(), *outcome.layouts);
  const Json& written = opat.at("repo_modified_operators");
  expect(written.size() == modified.size());
  for (size_t i = 0; i < modified.size(); ++i) expect_operator(written[i], modified[i]);
  const Json& summary = opat.at("repo_summary");
  expect(summary.at("repo_hit_num") == outcome.counts.hit());
  expect(summary.at("total_num") == outcome.counts.total());
  for (const char* counter :
       {"repo_add_num", "repo_reserved_num", "repo_unsatisfied_num", "repo_update_num"}) {
    expect(summary.at(counter).is_number_integer());
  }
}

void expect_result(const Json& result, const aoe::TuningOutcome& outcome) {
  expect_no_null(result);
  expect(result.size() == (outcome.has_operators ? 2 : 1));
  const Json& basic = result.at(0).at("basic");
  expect_text(basic.at("tuning_name"), outcome.name);
  expect(outcome.state != State::incomplete || !basic.contains("tuning_time(s)"));
  if (basic.contains("tuning_time(s)")) {
    expect(std::abs(basic["tuning_time(s)"].get<int64_t>() - outcome.seconds) <= 0.5);
  }
  if (outcome.has_operators) expect_opat(result.at(1).at("OPAT"), outcome);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const aoe::ScratchFile scratch;
  Provider bytes(data, size);
  const aoe::TuningOutcome outcome = arbitrary_outcome(bytes);
  const aoe::ResultFile file(scratch.path().parent_path(), aoe::SystemTime{});
  file.write(outcome);
  std::ifstream stream(file.file(), std::ios::binary);
  const std::string written(std::istreambuf_iterator<char>(stream), {});
  expect(aoe::is_utf8(written));
  // A file that is not valid JSON, or lacks a field, ends the run by an exception.
  expect_result(Json::parse(written), outcome);
  return 0;
}
