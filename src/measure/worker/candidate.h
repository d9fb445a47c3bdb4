#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace aoe {

// A choice that is compiled, checked or timed: a policy for one workload of a model, or a plan of
// the whole model. The policies of a plan's workloads are separate candidates.
struct Candidate {
  static constexpr int kPlan = -1;

  int workload = 0;  // by number, or kPlan
  // A policy's text. Of a plan: a line that names the graph, and the task times that its layouts
  // are solved from.
  std::string choice;

  bool is_plan() const { return workload == kPlan; }
  auto operator<=>(const Candidate&) const = default;
};

// The graph as graph_text names it, and its times as text.
struct PlanChoice {
  std::string graph;
  std::string times;
};
Candidate plan_candidate(const PlanChoice& choice);
PlanChoice plan_choice(const Candidate& candidate);

// A candidate's number in a worker, or in one request. The baseline is what the model was opened
// with: for a workload its policy then, for the model its plan. It can be timed without having been
// compiled, so whoever reports on it compiles its policy too, because only that checks it.
enum class CandidateId : int { baseline = 0 };
inline int format_as(CandidateId id) { return static_cast<int>(id); }

// What one pass over the model runs by.
struct Assignment {
  std::vector<CandidateId> workloads;  // of each its candidate or the baseline
  CandidateId plan = CandidateId::baseline;

  bool operator==(const Assignment&) const = default;
};

// Why a candidate is out of the race. It never comes back in the same job.
enum class Cause {
  illegal_policy,  // its text does not parse, or is not valid for the workload on this device
  compile_error,
  spills,        // inner loops keep vector registers in memory
  wrong_result,  // further from the reference than the type's tolerance allows
  not_a_number,  // NaN where the reference has a number
  out_of_bounds,
  crash,
  time_out,       // no end within the deadline, or longer than the limit it was given
  out_of_memory,  // more than the worker may have
  killed,         // the worker ended from outside while the candidate was at work
};

// The word for it in journals, messages and requests: "wrong_result".
std::string_view name(Cause cause);
std::optional<Cause> cause_named(std::string_view name);

struct Failure {
  Cause cause = Cause::crash;
  // One sentence: "output 0, element 17 is 3.5, not 2.5; up to 0.0001 may differ".
  std::string detail;
};

}  // namespace aoe
