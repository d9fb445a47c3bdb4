#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bank/gain.h"
#include "bank/tuned.h"
#include "tune/job/explanation.h"

namespace aoe {

// Which of an operator's tuning modes has changed, the most telling first.
enum class TuningMode : uint8_t { impl, format, schedule };

// What a tuned operator came to, with what proves it.
struct OperatorOutcome {
  std::string name;  // of its first use; of a fused one all names, one after the other
  std::vector<std::string> types;  // as the model names them
  TuningMode mode = TuningMode::schedule;
  Tuned tuned = Tuned::add;  // add or update
  Gain gain;                 // of one use
  std::set<std::string> measurements;
  std::string policy_before;
  std::string policy_after;
  std::optional<Explanation> why;  // known at the end
};

// What an operator tuning job has come to so far.
struct TuningOutcome {
  enum class State : uint8_t { incomplete, successful, failed };

  std::string name;  // of the job: the model's, without folder and suffix
  State state = State::incomplete;
  double seconds = 0;                           // that it took; known at its end
  std::optional<double> baseline_ns = {};       // of the whole model, before
  std::optional<Gain> model = {};               // known at its end, if it is proven
  std::optional<Gain> unproven_model = {};      // seen, but too small to be proven
  size_t taken_back = 0;                        // operators whose gain the whole model did not have
  size_t tried = 0;                             // candidates that were timed
  std::optional<double> expected_gain = {};     // of the model's time, by more tuning, if it pays
  std::vector<OperatorOutcome> operators = {};  // whose policies were added or updated
  std::optional<OperatorOutcome> layouts = {};  // other than those before; its gain is the model's
  std::string formats = {};                     // what tuning layouts came to, for people
  TunedCounts counts = {};
  std::vector<std::string> failed_operators = {};
  bool has_operators = true;  // whether there is any to tune
};

}  // namespace aoe
