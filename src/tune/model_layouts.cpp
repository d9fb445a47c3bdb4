#include "tune/model_layouts.h"

#include <fmt/format.h>

#include <cmath>

#include "base/hash.h"
#include "plan/plan.h"
#include "runtime/loaded_model.h"
#include "tune/layouts/layout_job.h"
#include "tune/runner/journaled_runner.h"
#include "tune/runner/worker_runner.h"

namespace aoe {
namespace {

using End = LayoutResult::End;

std::string words(const LayoutResult& result) {
  switch (result.end) {
    case End::no_choice: return "no tensor in this model has an alternative layout";
    case End::unmeasured: return "no task could be timed before its share of the time ended";
    case End::same:
      return fmt::format("the {} layouts of the baseline are best by {} measured times",
                         result.layouts, result.measured);
    case End::rejected: {
      // With few blocks, the interval is still from 0 to infinity.
      const Gain gain = result.challenger ? result.challenger->gain : Gain{};
      const bool has_bounds = gain.speedup_low > 0 && std::isfinite(gain.speedup_high);
      return fmt::format(
          "other layouts than the {} of the baseline seemed better by {} measured times; the whole "
          "model was not proven faster with them: {}",
          result.layouts, result.measured,
          has_bounds ? fmt::format("between {:.3f} and {:.3f} times as fast", gain.speedup_low,
                                   gain.speedup_high)
                     : "that would have taken longer than layouts may");
    }
    case End::accepted:
      return fmt::format(
          "{} layouts by {} measured times; the whole model is between {:.3f} and {:.3f} times as "
          "fast with them",
          result.layouts, result.measured, result.challenger->gain.speedup_low,
          result.challenger->gain.speedup_high);
  }
  return "";
}

// The name of a graph in the bank and in plan candidates.
std::string name_of_graph(Graph graph, const Device& device) {
  std::string name;
  plan_of(graph, device, [&](const std::string& text) {
    name = text;
    return TaskCost();
  });
  return name;
}

}  // namespace

ModelLayouts tune_model_layouts(Journal& journal, const TuneOptions& options, const Device& device,
                                const JobIdentity& job, double budget_s,
                                const std::function<void(double, double)>& display,
                                const std::function<bool()>& stopped) {
  LoadOptions load{options.input_shapes};
  load.impl = options.impl;
  const Graph graph = LoadedModel::simplified(options.model, load);
  const std::string name = name_of_graph(graph, device);
  const WantedEntry wanted{name};
  const std::string found = journal.ask("layouts of " + name + " in the bank", [&] {
    Bank::for_writing(options.banks, BankKind::graphs, job.target.soc_version);
    return to_json_text(known_in_banks(options.banks, BankKind::graphs, {wanted}, job));
  });
  const KnownInBank known = parse_known_in_bank(found).at(0);
  const bool repeats = job.repeat_tune || known.is_aged;
  ModelLayouts layouts;
  if (!is_to_be_tuned(known.is_in_bank() || known.is_remembered, repeats)) {
    layouts.line = fmt::format("formats: {} (REPEAT_TUNE=True tunes them again)",
                               known.is_in_bank() ? "the layouts are in the bank"
                                                  : "an earlier job found no better layouts");
    return layouts;
  }
  JournaledRunner runner(journal, [&] {
    WorkerRunnerOptions workers;
    workers.target.model = options.model;
    workers.target.input_shapes = options.input_shapes;
    workers.target.threads = options.threads;
    workers.target.impl = options.impl;
    workers.device = device;
    workers.only_layouts = true;
    workers.stopped = stopped;
    return worker_runner(std::move(workers));
  });
  LayoutOptions of_graph;
  of_graph.seed = stable_hash(job.id);
  of_graph.budget_s = budget_s;
  of_graph.baseline = known.baseline.value_or("");
  of_graph.display = display;
  const LayoutResult result = tune_layouts(runner, graph, device, of_graph);
  layouts.line = "formats: " + words(result);
  layouts.elapsed_s = result.elapsed_s;
  const std::string evidence = fmt::format("{}/layouts", job.id);
  BankEntry entry = entry_of(job, wanted, evidence, result.elapsed_s);
  entry.names = {options.model.stem().string()};
  entry.mode = aoe::name(TuningMode::format);
  entry.baseline = of_graph.baseline;
  entry.gain.samples = static_cast<int64_t>(result.measured);  // if nothing better is found
  Bank bank = Bank::for_writing(options.banks, BankKind::graphs, job.target.soc_version);
  if (result.end != End::accepted) {
    if (result.end == End::unmeasured) return layouts;
    if (!known.is_in_bank()) bank.merge({entry});
    if (!known.is_aged) return layouts;
    const auto kept = rejuvenated(options.banks, BankKind::graphs, *known.policy, entry);
    if (kept) bank.merge({*kept});
    return layouts;
  }
  const PlanChoice choice = plan_choice(result.challenger->candidate);
  entry.policy = choice.times;
  entry.gain = result.challenger->gain;
  entry.total_low = speed_up_of_both(known.baseline_low, entry.gain.speedup_low);
  if (!store(bank, entry, known.policy, "layouts")) return layouts;
  layouts.changed = result.changed;
  layouts.outcome.emplace();
  layouts.outcome->name = fmt::format("layouts of {}", options.model.stem().string());
  layouts.outcome->mode = TuningMode::format;
  layouts.outcome->tuned = tuned(known.is_in_bank(), repeats, true);
  layouts.outcome->gain = entry.gain;
  layouts.outcome->margin = result.margin;
  layouts.outcome->measurements = {evidence};
  layouts.outcome->policy_before = of_graph.baseline;
  layouts.outcome->policy_after = choice.times;
  return layouts;
}

Gain combined_gain(const Gain& first, const Gain& second) {
  const double speed_up = first.before_ns / first.after_ns * (second.before_ns / second.after_ns);
  return {.before_ns = first.before_ns,
          .after_ns = first.before_ns / speed_up,
          .speedup_low = first.speedup_low * second.speedup_low,
          .speedup_high = first.speedup_high * second.speedup_high,
          .noise_floor = std::max(first.noise_floor, second.noise_floor),
          .samples = first.samples + second.samples};
}

}  // namespace aoe
