#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bank/gain.h"
#include "bank/tuned.h"
#include "tune/job/explanation.h"

namespace aoe {

// What changed in a tuned operator, in order of precedence: algorithm, layout, anything else.
enum class TuningMode : uint8_t { impl, format, schedule };
// "Impl", "Format", "Schedule"
constexpr std::string_view name(TuningMode mode) {
  constexpr std::string_view kNames[] = {"Impl", "Format", "Schedule"};
  return kNames[static_cast<size_t>(mode)];
}

// The result of a tuned operator, with its evidence.
struct OperatorOutcome {
  std::string name;                // of its first use; names of fused nodes are concatenated
  std::vector<std::string> types;  // as the model names them
  TuningMode mode = TuningMode::schedule;
  Tuned tuned = Tuned::add;            // add or update
  Gain gain;                           // of one use
  double margin = 0;                   // of its proof: it is faster by more
  std::set<std::string> measurements;  // names of the evidence: "<job>/<workload>"
  std::string policy_before;
  std::string policy_after;
  std::optional<Explanation> why;  // set at the end of the job
};

// A policy whose confirmation was undecided when the job ended.
struct UndecidedOutcome {
  std::string name;     // of its operator
  double speed_up = 1;  // by its race
};

// The result of a tuning job, complete or so far.
struct TuningOutcome {
  enum class State : uint8_t { incomplete, successful, failed };

  std::string name;                    // of the job: the file name of the model without suffix
  std::filesystem::path journal = {};  // the job's folder
  State state = State::incomplete;
  double seconds = 0;                       // duration of the job; set at its end
  std::optional<double> baseline_ns = {};   // of the whole model, before the job
  std::optional<Gain> model = {};           // proven gain of the whole model; set at the end
  std::optional<Gain> unproven_model = {};  // measured, but not proven
  double margin = 0;                        // of a proof of the model's gain
  size_t dropped = 0;                       // proven policies that did not carry over
  size_t chosen = 0;                        // workloads that were to be tuned
  size_t tried = 0;                         // candidates timed
  size_t remembered = 0;                    // workloads that an earlier job tuned without gain
  std::vector<UndecidedOutcome> undecided = {};
  std::optional<double> expected_gain = {};     // share of the model's time; if more tuning pays
  std::vector<OperatorOutcome> operators = {};  // with added or updated policies
  std::optional<OperatorOutcome> layouts = {};  // if they changed; its gain is the model's
  std::string formats = {};                     // summary of layout tuning for the user
  TunedCounts counts = {};
  std::vector<std::string> failed_operators = {};
  bool has_operators = true;  // whether the model has any workload
};

}  // namespace aoe
