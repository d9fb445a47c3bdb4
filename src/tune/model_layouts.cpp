#include "tune/model_layouts.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/notice.h"
#include "plan/plan.h"
#include "runtime/loaded_model.h"
#include "tune/layouts/layout_job.h"
#include "tune/runner/journaled_runner.h"
#include "tune/runner/worker_runner.h"

namespace aoe {
namespace {

using Json = nlohmann::json;
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
  const Json in_bank = Json::parse(journal.ask("layouts of " + name + " in the bank", [&] {
    const Bank bank = Bank::for_writing(options.banks, job.target.soc_version);
    const LookupResult found = bank.find({name}, job.target)[0];
    for (const std::string& problem : found.problems) notice(problem);
    return (found.entry ? Json(found.entry->policy) : Json()).dump();
  }));
  ModelLayouts layouts;
  if (!is_to_be_tuned(!in_bank.is_null(), job.repeat_tune)) {
    layouts.line = "formats: the layouts are in the bank (REPEAT_TUNE=True tunes them again)";
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
  if (!in_bank.is_null()) of_graph.baseline = in_bank;
  of_graph.display = display;
  const LayoutResult result = tune_layouts(runner, graph, device, of_graph);
  layouts.line = "formats: " + words(result);
  layouts.elapsed_s = result.elapsed_s;
  if (result.end != End::accepted) return layouts;
  const PlanChoice choice = plan_choice(result.challenger->candidate);
  const std::string evidence = fmt::format("{}/layouts", job.id);
  const auto baseline = in_bank.is_null() ? std::nullopt : std::optional(of_graph.baseline);
  Bank bank = Bank::for_writing(options.banks, job.target.soc_version);
  const BankEntry entry = entry_of(job, choice.graph, choice.times, result.challenger->gain,
                                   evidence, result.elapsed_s);
  if (!store(bank, entry, baseline, Numerics::strassen, "layouts")) return layouts;
  layouts.changed = result.changed;
  layouts.outcome.emplace();
  layouts.outcome->name = fmt::format("layouts of {}", options.model.stem().string());
  layouts.outcome->mode = TuningMode::format;
  layouts.outcome->tuned = tuned(!in_bank.is_null(), job.repeat_tune, true);
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
