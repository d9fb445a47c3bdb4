#include "tune/formats.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/middle.h"
#include "measure/proof.h"
#include "plan/plan.h"
#include "plan/task_times.h"
#include "tune/trials.h"

namespace aoe {
namespace {

// Of a job's budget: until when tasks are measured, and until when a plan may be proven. The rest
// is for the operators.
constexpr double kMeasuredShare = 0.15;
constexpr double kProvenShare = 0.3;
// Of the estimate of all tasks: what takes less decides nothing, and keeps its estimate.
constexpr double kLeastShare = 0.001;
constexpr size_t kMostLosses = 3;

class FormatJob {
 public:
  FormatJob(FormatMachine& machine, const Graph& graph, const Device& device,
            const FormatOptions& options)
      : machine_(machine), graph_(graph), device_(device), options_(options) {}

  FormatResult run() {
    const std::vector<AskedTask> asked = asked_tasks(graph_, device_);
    if (asked.empty()) return ended(End::no_choice);
    opened_ = machine_.open();
    spent(opened_.seconds, 0);
    const std::vector<std::pair<Workload, double>> measured = measure(asked);
    result_.measured = measured.size();
    const Plan standing = plan_by(options_.standing);
    result_.layouts = standing.layouts.size();
    if (measured.empty()) return ended(End::unmeasured);
    result_.times = to_string(task_times(measured, device_));
    const Plan solved = plan_by(result_.times);
    const std::vector<std::string> before = workloads_of(standing);
    const std::vector<std::string> after = workloads_of(solved);
    machine_.decide("layouts", before == after ? "those that stand" : result_.times);
    if (before == after) return ended(End::same);
    prove();
    if (proof_.decision != ProofDecision::accepted) return ended(End::rejected);
    result_.layouts = solved.layouts.size();
    result_.changed.insert(after.begin(), after.end());
    for (const std::string& text : before) result_.changed.erase(text);
    return ended(End::accepted);
  }

 private:
  using End = FormatResult::End;

  FormatResult ended(End end) {
    result_.end = end;
    return std::move(result_);
  }

  void spent(double seconds, double share) {
    result_.elapsed_s += seconds;
    options_.progress(share, result_.elapsed_s);
  }
  bool out_of_time(double share) const { return result_.elapsed_s >= share * options_.budget_s; }

  // By times as they are stored, so that whoever finds them there plans the same.
  Plan plan_by(const std::string& times) {
    Graph graph = graph_;
    return plan_of(graph, device_, [&](const std::string& text) {
      result_.graph = text;
      return times.empty() ? TaskCost() : measured_cost(device_, parse_task_times(times));
    });
  }

  // Two plans of a graph differ where their steps do.
  static std::vector<std::string> workloads_of(const Plan& plan) {
    std::vector<std::string> texts;
    for (const PlanStep& step : plan.steps) {
      if (runs_task(step)) texts.push_back(to_string(step.task.workload));
    }
    return texts;
  }

  // All ways of a task or none, so that measured times are not held against estimates.
  std::vector<std::pair<Workload, double>> measure(const std::vector<AskedTask>& asked) {
    double all_s = 0;
    for (const AskedTask& task : asked) all_s += task.estimated_s;
    std::vector<std::pair<Workload, double>> measured;
    double done_s = 0;
    for (const AskedTask& task : asked) {
      if (task.estimated_s < kLeastShare * all_s || out_of_time(kMeasuredShare)) break;
      std::vector<std::string> texts;
      for (const Workload& way : task.ways) texts.push_back(to_string(way));
      const RoundsAlone rounds = machine_.rounds_alone(texts);
      const bool complete = std::none_of(rounds.ns.begin(), rounds.ns.end(),
                                         [](const auto& own) { return own.empty(); });
      for (size_t i = 0; complete && i < task.ways.size(); ++i) {
        measured.emplace_back(task.ways[i], middle(rounds.ns[i]));
      }
      done_s += task.estimated_s;
      spent(rounds.seconds, kMeasuredShare * done_s / all_s);
    }
    return measured;
  }

  // Pairs of passes in fresh processes, block by block.
  void prove() {
    const size_t pairs = block_pairs(opened_.pass_ns);
    const ProofOptions options{.margin = opened_.margin};
    std::vector<double> speed_ups;
    std::vector<double> before_ns;
    double block_s = 0;
    // What would not come to a proof is not gone on with.
    const auto has_time = [&] {
      const size_t missing = kFewestBlocks - std::min(kFewestBlocks, speed_ups.size());
      const double needed_s = block_s * static_cast<double>(missing);
      return result_.elapsed_s + needed_s < kProvenShare * options_.budget_s;
    };
    for (size_t losses = 0;
         losses < kMostLosses && proof_.decision == ProofDecision::go_on && has_time();) {
      // The first two are not counted: what runs for the first time.
      const bool rival_first = (random_() & 1) != 0;
      std::vector<bool> order{rival_first, !rival_first};
      for (size_t i = 0; i < pairs; ++i) {
        const bool first = (random_() & 1) != 0;
        order.push_back(first);
        order.push_back(!first);
      }
      const PlanPasses passes = machine_.plans({{result_.graph, result_.times}}, order);
      block_s = passes.seconds;
      spent(passes.seconds, kMeasuredShare + (kProvenShare - kMeasuredShare) *
                                                 static_cast<double>(speed_ups.size()) /
                                                 static_cast<double>(options.most_blocks));
      if (passes.ns.size() != order.size()) {
        ++losses;
        continue;
      }
      std::vector<double> before;
      std::vector<double> after;
      for (size_t i = 2; i < order.size(); ++i) {
        (order[i] ? after : before).push_back(passes.ns[i]);
      }
      speed_ups.push_back(block_speed_up(before, after));
      before_ns.insert(before_ns.end(), before.begin(), before.end());
      proof_ = proof_of(speed_ups, options);
    }
    result_.gain = proven_gain(before_ns, proof_);
    result_.gain.noise_floor = opened_.noise_floor;
    machine_.decide(
        "proof of layouts",
        fmt::format("{}, {} times as fast, {} to {}",
                    proof_.decision == ProofDecision::accepted ? "accepted" : "rejected",
                    proof_.speed_up.median, proof_.speed_up.low, proof_.speed_up.high));
  }

  FormatMachine& machine_;
  const Graph& graph_;
  const Device& device_;
  const FormatOptions& options_;
  Random random_{options_.seed};
  FormatsOpened opened_;
  Proof proof_;
  FormatResult result_;
};

}  // namespace

FormatResult tune_formats(FormatMachine& machine, const Graph& graph, const Device& device,
                          const FormatOptions& options) {
  return FormatJob(machine, graph, device, options).run();
}

}  // namespace aoe
