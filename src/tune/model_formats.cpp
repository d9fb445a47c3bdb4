#include "tune/model_formats.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/notice.h"
#include "plan/plan.h"
#include "runtime/loaded_model.h"
#include "tune/journaled_formats.h"
#include "tune/keep.h"
#include "tune/worker_machine.h"

namespace aoe {
namespace {

using Json = nlohmann::json;
using End = FormatResult::End;

std::string words(const FormatResult& result) {
  switch (result.end) {
    case End::no_choice: return "nothing in this model could lie otherwise in memory";
    case End::unmeasured: return "no task could be timed before its share of the time ended";
    case End::same:
      return fmt::format("the {} layouts that stand are best by {} measured times", result.layouts,
                         result.measured);
    case End::rejected: {
      // Few blocks have no bounds yet.
      const Gain& gain = result.gain;
      const bool has_bounds = gain.speedup_low > 0 && std::isfinite(gain.speedup_high);
      return fmt::format(
          "others than the {} layouts that stand seemed better by {} measured times; the whole "
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
          result.layouts, result.measured, result.gain.speedup_low, result.gain.speedup_high);
  }
  return "";
}

// The name by which the bank and plans know a graph.
std::string name_of_graph(Graph graph, const Device& device) {
  std::string name;
  plan_of(graph, device, [&](const std::string& text) {
    name = text;
    return TaskCost();
  });
  return name;
}

BankEntry entry_of(const FormatsOfJob& job, const FormatResult& result,
                   const std::string& evidence) {
  BankEntry entry;
  entry.workload = result.graph;
  entry.target = job.target;
  entry.policy = result.times;
  entry.gain = result.gain;
  entry.evidence = {evidence};
  entry.processor = host_device().processor;
  entry.date = utc_text(job.began + std::chrono::seconds(static_cast<int64_t>(result.elapsed_s)));
  entry.effort = job.effort;
  return entry;
}

}  // namespace

ModelFormats tune_model_formats(Journal& journal, const TuneOptions& options,
                                const FormatsOfJob& job,
                                const std::function<void(double, double)>& progress,
                                const std::function<bool()>& stopped) {
  const Graph graph = LoadedModel::simplified(options.model, {options.input_shapes});
  const Device& device = host_device();
  const std::string name = name_of_graph(graph, device);
  const Json in_bank = Json::parse(journal.ask("layouts of " + name + " in the bank", [&] {
    const Bank bank = Bank::for_writing(options.banks.custom, job.target.soc_version);
    const Found found = bank.find({name}, job.target)[0];
    for (const std::string& problem : found.problems) notice(problem);
    return (found.entry ? Json(found.entry->policy) : Json()).dump();
  }));
  ModelFormats formats;
  if (!is_to_be_tuned(!in_bank.is_null(), job.repeat_tune)) {
    formats.line = "formats: the layouts are in the bank (REPEAT_TUNE=True tunes them again)";
    return formats;
  }
  JournaledFormats machine(journal, [&] {
    WorkerMachineOptions workers;
    workers.target.model = options.model;
    workers.target.input_shapes = options.input_shapes;
    workers.target.threads = options.threads;
    workers.stopped = stopped;
    return worker_formats(std::move(workers));
  });
  FormatOptions of_graph;
  of_graph.seed = stable_hash(job.id);
  of_graph.budget_s = job.budget_s;
  if (!in_bank.is_null()) of_graph.standing = in_bank;
  of_graph.progress = progress;
  const FormatResult result = tune_formats(machine, graph, device, of_graph);
  formats.line = "formats: " + words(result);
  formats.elapsed_s = result.elapsed_s;
  if (result.end != End::accepted) return formats;
  const std::string evidence = fmt::format("{}/layouts", job.id);
  const auto incumbent = in_bank.is_null() ? std::nullopt : std::optional(of_graph.standing);
  Bank bank = Bank::for_writing(options.banks.custom, job.target.soc_version);
  if (!keep(bank, entry_of(job, result, evidence), incumbent, "layouts")) return formats;
  formats.changed = result.changed;
  formats.outcome.emplace();
  formats.outcome->name = fmt::format("layouts of {}", options.model.stem().string());
  formats.outcome->mode = TuningMode::format;
  formats.outcome->tuned = tuned(!in_bank.is_null(), job.repeat_tune, true);
  formats.outcome->gain = result.gain;
  formats.outcome->measurements = {evidence};
  formats.outcome->policy_before = of_graph.standing;
  formats.outcome->policy_after = result.times;
  return formats;
}

Gain in_a_row(const Gain& first, const Gain& second) {
  const double speed_up = first.before_ns / first.after_ns * (second.before_ns / second.after_ns);
  return {.before_ns = first.before_ns,
          .after_ns = first.before_ns / speed_up,
          .speedup_low = first.speedup_low * second.speedup_low,
          .speedup_high = first.speedup_high * second.speedup_high,
          .noise_floor = std::max(first.noise_floor, second.noise_floor),
          .samples = first.samples + second.samples};
}

}  // namespace aoe
