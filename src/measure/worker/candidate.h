#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace aoe {

// A choice that is compiled, checked or timed: a policy for one workload of a model, or a plan for
// the whole model. The policies of a plan's workloads are separate candidates.
struct Candidate {
  static constexpr int kPlan = -1;

  int workload = 0;  // number of the workload, or kPlan
  // For a policy: its text. For a plan: a line that names the graph, then the task times that its
  // layouts are solved from.
  std::string choice;

  bool is_plan() const { return workload == kPlan; }
  auto operator<=>(const Candidate&) const = default;
};

// The choice of a plan: the graph, named as by graph_text, and its task times as text.
struct PlanChoice {
  std::string graph;
  std::string times;
};
Candidate plan_candidate(const PlanChoice& choice);
PlanChoice plan_choice(const Candidate& candidate);

// Number of a candidate in a worker, or in one request. The baseline is what the model was opened
// with: the policy of each workload and the plan of the model. It can be timed without having been
// compiled. Only compiling checks a policy, so a caller that reports on the baseline compiles its
// policy as a candidate too.
enum class CandidateId : int { baseline = 0 };
inline int format_as(CandidateId id) { return static_cast<int>(id); }

// The candidates that one pass over the model runs with.
struct Assignment {
  std::vector<CandidateId> workloads;  // for each workload: a candidate or the baseline
  CandidateId plan = CandidateId::baseline;

  bool operator==(const Assignment&) const = default;
};

// Why a candidate failed. A failed candidate is excluded for the rest of the job.
enum class Cause {
  illegal_policy,  // its text does not parse, or is not valid for the workload on this device
  compile_error,
  spills,        // inner loops spill more vector registers than those of the baseline
  wrong_result,  // differs from the reference by more than the tolerance of the type
  not_a_number,  // NaN where the reference has a number
  out_of_bounds,
  crash,
  time_out,       // no progress within the deadline, or slower than the limit of a measurement
  out_of_memory,  // needs more memory than the worker may use
  killed,         // the worker was killed from outside while the candidate was running
};

// The name of a cause in journals, messages and requests: "wrong_result".
std::string_view name(Cause cause);
std::optional<Cause> cause_named(std::string_view name);

struct Failure {
  Cause cause = Cause::crash;
  // For people: "output 0, ordinary input: element 17 is 3.5, not 2.5 (up to 0.0001 may differ)".
  std::string detail;
};

}  // namespace aoe
