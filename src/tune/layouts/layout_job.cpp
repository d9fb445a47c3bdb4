#include "tune/layouts/layout_job.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/median.h"
#include "plan/plan.h"
#include "plan/task_times.h"

namespace aoe {
namespace {

// Shares of the job's budget at which measuring tasks and proving a plan end. The rest is for the
// operators.
constexpr double kMeasuredShare = 0.15;
constexpr double kProvenShare = 0.3;
// Tasks with a smaller share of the estimated time of all tasks are not measured: they decide
// nothing, and keep their estimate.
constexpr double kLeastShare = 0.001;

class LayoutJob {
 public:
  LayoutJob(Runner& runner, const Graph& graph, const Device& device, const LayoutOptions& options)
      : job_(runner, options.seed, options.budget_s),
        graph_(graph),
        device_(device),
        options_(options) {}

  LayoutResult run() {
    const std::vector<LayoutTask> asked = layout_tasks(graph_, device_);
    if (asked.empty()) return ended(End::no_choice);
    job_.open();
    report_progress(0);
    const std::vector<std::pair<Workload, double>> measured = measure(asked);
    result_.measured = measured.size();
    const Plan baseline = plan_by(options_.baseline);
    result_.layouts = baseline.layouts.size();
    if (measured.empty()) return ended(End::unmeasured);
    const std::string times = to_string(task_times(measured, device_));
    const Plan solved = plan_by(times);
    const std::vector<std::string> before = workloads_of(baseline);
    const std::vector<std::string> after = workloads_of(solved);
    job_.record_decision("layouts", before == after ? "those of the baseline" : times);
    if (before == after) return ended(End::same);
    if (!proves(plan_candidate({graph_name_, times}))) return ended(End::rejected);
    result_.layouts = solved.layouts.size();
    result_.changed.insert(after.begin(), after.end());
    for (const std::string& text : before) result_.changed.erase(text);
    return ended(End::accepted);
  }

 private:
  using End = LayoutResult::End;

  LayoutResult ended(End end) {
    result_.end = end;
    result_.elapsed_s = job_.elapsed_s();
    return std::move(result_);
  }

  void report_progress(double share) const { options_.display(share, job_.elapsed_s()); }

  // Plans with task times in their stored form, so that loading them from the bank gives the same
  // plan.
  Plan plan_by(const std::string& times) {
    Graph graph = graph_;
    return plan_of(graph, device_, [&](const std::string& name) {
      graph_name_ = name;
      return times.empty() ? TaskCost() : measured_cost(device_, parse_task_times(times));
    });
  }

  // The workloads of all steps, in order: two plans of a graph are equal if these are.
  static std::vector<std::string> workloads_of(const Plan& plan) {
    std::vector<std::string> texts;
    for (const PlanStep& step : plan.steps) {
      if (runs_task(step)) texts.push_back(to_string(step.task.workload));
    }
    return texts;
  }

  // Times of tasks, the most expensive first. A task counts only if all its layouts were measured,
  // so that measured times are not compared with estimates.
  std::vector<std::pair<Workload, double>> measure(const std::vector<LayoutTask>& asked) {
    double all_s = 0;
    for (const LayoutTask& task : asked) all_s += task.estimated_s;
    std::vector<std::pair<Workload, double>> measured;
    double done_s = 0;
    for (const LayoutTask& task : asked) {
      const bool out_of_time = job_.elapsed_s() >= kMeasuredShare * job_.budget_s;
      if (task.estimated_s < kLeastShare * all_s || out_of_time) break;
      Request work;
      for (const Workload& way : task.variants) work.alone.push_back(to_string(way));
      const std::vector<std::vector<double>> rounds_ns = job_.ask(work).alone_ns;
      const bool complete = std::none_of(rounds_ns.begin(), rounds_ns.end(),
                                         [](const auto& rounds) { return rounds.empty(); });
      for (size_t i = 0; complete && i < task.variants.size(); ++i) {
        measured.emplace_back(task.variants[i], median(rounds_ns[i]));
      }
      done_s += task.estimated_s;
      report_progress(kMeasuredShare * done_s / all_s);
    }
    return measured;
  }

  // Compares whole passes of both plans, while there is time to complete a proof.
  bool proves(const Candidate& plan) {
    result_.margin = job_.opened().margin;
    const ProofOptions options{.margin = result_.margin, .error = job_.error_of_claim("layouts")};
    Proofs proofs(job_.opened(), {{{plan}, options}}, PairedBlocks::Timed::whole_pass, job_.random);
    double block_s = 0;
    const auto timed = [&](const PassesRequest& block) {
      const double began_s = job_.elapsed_s();
      PassesResult measured = job_.ask({{}, block}).measured;
      block_s = job_.elapsed_s() - began_s;
      return measured;
    };
    const auto has_time = [&] {
      const double needed_s = block_s * static_cast<double>(proofs.missing_blocks());
      return job_.elapsed_s() + needed_s < kProvenShare * job_.budget_s;
    };
    while (!proofs.over() && has_time()) {
      proofs.add(timed(proofs.next()));
      report_progress(kMeasuredShare + (kProvenShare - kMeasuredShare) * proofs.share());
    }
    const Proof& proof = proofs.proof(0);
    const bool is_accepted = proof.decision == ProofDecision::accepted;
    job_.record_decision(
        "proof of layouts",
        fmt::format("{}, {} times as fast, {} to {}", is_accepted ? "accepted" : "rejected",
                    proof.speed_up.median, proof.speed_up.low, proof.speed_up.high));
    if (!is_accepted) {
      if (!proofs.evidence(0).before_ns.empty()) {
        result_.challenger = {plan, job_.gain_of(proofs, 0)};
      }
      return false;
    }
    // The gain that is claimed comes from fresh blocks, used for nothing else.
    PairedBlocks final_blocks(job_.opened(), {{plan}}, PairedBlocks::Timed::whole_pass,
                              job_.random);
    while (final_blocks.needs_block(0, kFinalBlocks)) {
      final_blocks.add(timed(final_blocks.next({true})));
    }
    if (final_blocks.samples(0).speed_ups.size() < kFinalBlocks) return false;
    result_.challenger = {plan, job_.gain_of(final_blocks.samples(0))};
    return true;
  }

  JobContext job_;
  const Graph& graph_;
  const Device& device_;
  const LayoutOptions& options_;
  std::string graph_name_;  // by graph_text
  LayoutResult result_;
};

}  // namespace

LayoutResult tune_layouts(Runner& runner, const Graph& graph, const Device& device,
                          const LayoutOptions& options) {
  return LayoutJob(runner, graph, device, options).run();
}

}  // namespace aoe
