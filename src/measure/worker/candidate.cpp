#include "measure/worker/candidate.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace aoe {
namespace {

// In the order of the enumeration.
constexpr std::array<std::string_view, 10> kNames{
    "illegal_policy", "compile_error", "spills",   "wrong_result",  "not_a_number",
    "out_of_bounds",  "crash",         "time_out", "out_of_memory", "killed"};
static_assert(kNames.size() == static_cast<size_t>(Cause::killed) + 1);

}  // namespace

Candidate plan_candidate(const PlanChoice& choice) {
  return {Candidate::kPlan, choice.graph + '\n' + choice.times};
}

PlanChoice plan_choice(const Candidate& candidate) {
  const size_t end = candidate.choice.find('\n');
  require(candidate.is_plan() && end != std::string::npos, "'{}' is no plan", candidate.choice);
  return {candidate.choice.substr(0, end), candidate.choice.substr(end + 1)};
}

std::string_view name(Cause cause) { return kNames[static_cast<size_t>(cause)]; }

std::optional<Cause> cause_named(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Cause>(found - kNames.begin());
}

}  // namespace aoe
