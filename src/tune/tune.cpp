#include "tune/tune.h"

#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/notice.h"
#include "expr/parse.h"
#include "measure/device_lock.h"
#include "policy/policy_text.h"
#include "runtime/loaded_model.h"
#include "tune/journaled_machine.h"
#include "tune/keep.h"
#include "tune/model_formats.h"
#include "tune/work_space.h"
#include "tune/worker_machine.h"

namespace aoe {
namespace {

using Json = nlohmann::json;
using SystemClock = std::chrono::system_clock;

// Of a workload, with normal effort: in the gym (docs/tuning.md) they leave little of what can be
// gained. Whoever wants more of them is content with smaller gains, too.
constexpr size_t kSamples = 48;

std::vector<std::string> types_of(const OpenWorkload& workload) {
  std::vector<std::string> types;
  for (const auto& node : workload.nodes) {
    if (std::find(types.begin(), types.end(), node.type) == types.end()) types.push_back(node.type);
  }
  return types;
}

// Which algorithm stages run by says more than how values lie, and that more than how loops run.
TuningMode mode_of(const std::string& workload, const std::string& before, const std::string& after,
                   bool lies_otherwise) {
  const Workload parsed = parse_workload(workload);
  const Structure was = parse_policy(before, parsed).structure;
  const Structure is = parse_policy(after, parsed).structure;
  for (size_t s = 0; s < parsed.stages.size(); ++s) {
    const StagePolicy a = was.of(s);
    const StagePolicy b = is.of(s);
    if (a.product != b.product || a.winograd != b.winograd || a.strassen != b.strassen) {
      return TuningMode::impl;
    }
  }
  return lies_otherwise ? TuningMode::format : TuningMode::schedule;
}

class Tuning {
 public:
  Tuning(const TuneOptions& options, const TuneListener& listener)
      : options_(options),
        listener_(listener),
        space_(options.reload ? work_space_to_reload(options)
                              : new_work_space(options, SystemClock::now())),
        journal_(space_.journal(), options.reload ? Journal::Start::reload : Journal::Start::fresh),
        target_(target_of(host_device(), options.threads)) {}

  TuningOutcome run() {
    begin();
    if (std::filesystem::exists(space_.finished())) {
      notice(
          fmt::format("the job in '{}' is finished: this is what it came to; start a new one to "
                      "search further",
                      space_.folder.string()));
    }
    listener_.begun(space_.folder);
    if (formats_wanted_) tune_formats();
    JournaledMachine machine(journal_, [&] {
      WorkerMachineOptions workers;
      workers.target.model = options_.model;
      workers.target.input_shapes = options_.input_shapes;
      workers.target.threads = options_.threads;
      workers.compile_jobs = options_.compile_jobs;
      workers.stopped = listener_.stopped;
      return worker_machine(std::move(workers));
    });
    JobListener progress;
    progress.opened = [&](const Opened& opened) { workloads_ = opened.workloads; };
    progress.progress = [&](JobProgress now) {
      now.share = layouts_share_ + (1 - layouts_share_) * now.share;
      now.elapsed_s += formats_.elapsed_s;
      listener_.progress(
          now, now.workload < 0 ? "" : name_of(workloads_[static_cast<size_t>(now.workload)]));
    };
    // In real time, though the whole model may still take it back.
    progress.accepted = [&](const Accepted& accepted) {
      accepted_.insert_or_assign(accepted.workload, outcome_of(accepted));
      outcome_.operators.clear();
      for (const auto& [workload, outcome] : accepted_) outcome_.operators.push_back(outcome);
      listener_.changed(outcome_);
    };
    // More threads than the model has are no decision.
    Device device = host_device();
    device.cores = options_.threads;
    finish(tune_operators(machine, device, job_, progress));
    return std::move(outcome_);
  }

 private:
  // Before the operators: those are tuned as they lie then.
  void tune_formats() {
    const FormatsOfJob job{id_, began_, effort_, repeat_tune_, job_.budget_s, target_};
    const auto progress = [&](double share, double elapsed_s) {
      layouts_share_ = share;
      listener_.progress({JobProgress::Phase::layouts, share, elapsed_s}, "");
    };
    formats_ = tune_model_formats(journal_, options_, job, progress, listener_.stopped);
    job_.budget_s -= formats_.elapsed_s;
    outcome_.formats = formats_.line;
    outcome_.layouts = formats_.outcome;
    listener_.changed(outcome_);
  }

  // What the job is, once and for all: a job that is gone on with keeps it.
  void begin() {
    const std::string model = fmt::format("{:016x}", checksum(mapped(options_.model).bytes));
    const Json job = Json::parse(journal_.ask("job", [&] {
      const std::map<Effort, size_t> samples{{Effort::normal, kSamples}, {Effort::high, 128}};
      const TunedKinds kinds = options_.auto_tune.value_or(TunedKinds{});
      std::random_device device;
      return Json{{"id", fmt::format("{:08x}{:08x}", device(), device())},
                  {"version", AOE_VERSION},
                  {"began_s", std::chrono::duration_cast<std::chrono::seconds>(
                                  SystemClock::now().time_since_epoch())
                                  .count()},
                  {"model", model},
                  {"threads", options_.threads},
                  {"input_shapes", options_.input_shapes},
                  {"effort", name(options_.effort)},
                  {"samples", samples.at(options_.effort) * (options_.deeper ? 4 : 1)},
                  {"cube", kinds.cube},
                  {"vector", kinds.vector},
                  {"formats", options_.formats},
                  {"budget_s", options_.budget_s ? Json(*options_.budget_s) : Json()},
                  {"repeat_tune", options_.repeat_tune}}
          .dump();
    }));
    require(job.at("model") == model,
            "--reload: the job in '{}' is of another model than '{}' is now",
            space_.folder.string(), options_.model.string());
    require(job.at("version") == AOE_VERSION,
            "--reload: the job in '{}' was begun by version {}, this is {}: start a new one",
            space_.folder.string(), job.at("version").get<std::string>(), AOE_VERSION);
    require(job.at("threads") == options_.threads,
            "--reload: the job in '{}' is for other threads than {}: --aicore_num={} was asked for",
            space_.folder.string(), options_.threads, job.at("threads").get<int>());
    require(
        job.at("input_shapes") == Json(options_.input_shapes),
        "--reload: the job in '{}' is for other shapes: give the --input_shape that it was begun "
        "with",
        space_.folder.string());
    id_ = job.at("id");
    effort_ = job.at("effort");
    began_ = SystemTime(std::chrono::seconds(job.at("began_s").get<int64_t>()));
    repeat_tune_ = job.at("repeat_tune");
    formats_wanted_ = job.at("formats");
    job_.seed = stable_hash(id_);
    job_.samples = job.at("samples");
    job_.least_gain *= static_cast<double>(kSamples) / static_cast<double>(job_.samples);
    job_.kinds = {job.at("cube"), job.at("vector")};
    if (!job.at("budget_s").is_null()) job_.budget_s = job.at("budget_s");
    job_.chosen = [this](const std::vector<OpenWorkload>& all) { return chosen(all); };
    job_.known = [this] { return known(); };
    outcome_.name = options_.model.stem().string();
    listener_.changed(outcome_);
  }

  // Asked once, like everything that may be otherwise next time.
  std::vector<bool> chosen(const std::vector<OpenWorkload>& all) {
    const Json found = Json::parse(journal_.ask("bank", [&] {
      const Bank bank = Bank::for_writing(options_.banks.custom, target_.soc_version);
      std::vector<std::string> texts;
      for (const OpenWorkload& one : all) texts.push_back(one.text);
      Json list = Json::array();
      for (const Found& one : bank.find(texts, target_)) {
        for (const std::string& problem : one.problems) notice(problem);
        list.push_back(one.entry ? Json(one.entry->policy) : Json());
      }
      return list.dump();
    }));
    std::vector<bool> chosen;
    for (const Json& policy : found) {
      in_bank_.push_back(policy.is_null() ? std::nullopt
                                          : std::optional(policy.get<std::string>()));
      chosen.push_back(is_to_be_tuned(in_bank_.back().has_value(), repeat_tune_));
    }
    outcome_.has_operators = !all.empty();
    return chosen;
  }

  // What the bank has for this target, asked once, too.
  std::vector<Relative> known() {
    const Json found = Json::parse(journal_.ask("known policies", [&] {
      const Bank bank = Bank::for_writing(options_.banks.custom, target_.soc_version);
      Json list = Json::array();
      for (const StoredEntry& one : bank.entries()) {
        const bool counts = one.state == StoredEntry::State::good && one.entry.target == target_ &&
                            !one.entry.is_of_graph();
        if (counts) list.push_back({one.entry.workload, one.entry.policy});
      }
      return list.dump();
    }));
    std::vector<Relative> known;
    for (const Json& one : found) known.push_back({one.at(0), one.at(1)});
    return known;
  }

  OperatorOutcome outcome_of(const Accepted& accepted) const {
    const OpenWorkload& workload = workloads_[static_cast<size_t>(accepted.workload)];
    OperatorOutcome outcome;
    outcome.name = name_of(workload);
    outcome.types = types_of(workload);
    outcome.mode = mode_of(workload.text, workload.policy, accepted.policy,
                           formats_.changed.contains(workload.text));
    outcome.tuned =
        tuned(in_bank_[static_cast<size_t>(accepted.workload)].has_value(), repeat_tune_, true);
    outcome.gain = accepted.gain;
    outcome.measurements = {evidence_name(accepted.workload)};
    outcome.policy_before = workload.policy;
    outcome.policy_after = accepted.policy;
    outcome.why = accepted.why;
    return outcome;
  }
  std::string evidence_name(int workload) const { return fmt::format("{}/{}", id_, workload); }

  void finish(const JobResult& result) {
    Bank bank = Bank::for_writing(options_.banks.custom, target_.soc_version);
    outcome_.operators.clear();
    std::vector<bool> better(workloads_.size());
    for (const Accepted& accepted : result.accepted) {
      const OperatorOutcome outcome = outcome_of(accepted);
      const BankEntry entry = entry_of(accepted, outcome, result.elapsed_s);
      const auto at = static_cast<size_t>(accepted.workload);
      if (!keep(bank, entry, in_bank_[at], outcome.name)) continue;
      better[at] = true;
      outcome_.operators.push_back(outcome);
    }
    for (size_t i = 0; i < workloads_.size(); ++i) {
      const bool is_failed = std::find(result.failed.begin(), result.failed.end(),
                                       static_cast<int>(i)) != result.failed.end();
      if (is_failed) outcome_.failed_operators.push_back(name_of(workloads_[i]));
      else outcome_.counts.count(tuned(in_bank_[i].has_value(), repeat_tune_, better[i]));
    }
    if (result.before_ns > 0) outcome_.baseline_ns = result.before_ns;
    outcome_.model = result.gain;
    outcome_.unproven_model = result.unproven_gain;
    if (formats_.outcome) add_formats(*formats_.outcome);
    outcome_.taken_back = result.taken_back;
    outcome_.tried = result.tried;
    if (result.expected_gain >= job_.least_gain) outcome_.expected_gain = result.expected_gain;
    outcome_.seconds = formats_.elapsed_s + result.elapsed_s;
    write_model();
    outcome_.state = outcome_.failed_operators.empty() ? TuningOutcome::State::successful
                                                       : TuningOutcome::State::failed;
    listener_.changed(outcome_);
    std::ofstream(space_.finished()).close();
  }

  // The operators were compared with the model as it was with its new layouts.
  void add_formats(const OperatorOutcome& formats) {
    outcome_.baseline_ns = formats.gain.before_ns;
    outcome_.model = outcome_.model ? in_a_row(formats.gain, *outcome_.model) : formats.gain;
    outcome_.unproven_model.reset();
    for (const OpenWorkload& workload : workloads_) {
      if (!formats_.changed.contains(workload.text)) continue;
      for (const std::string& type : types_of(workload)) {
        std::vector<std::string>& types = outcome_.layouts->types;
        if (std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
      }
    }
  }

  BankEntry entry_of(const Accepted& accepted, const OperatorOutcome& outcome,
                     double elapsed_s) const {
    BankEntry entry;
    entry.workload = workloads_[static_cast<size_t>(accepted.workload)].text;
    entry.target = target_;
    entry.policy = accepted.policy;
    entry.gain = accepted.gain;
    entry.evidence = outcome.measurements;
    entry.processor = host_device().processor;
    entry.date = utc_text(
        began_ + std::chrono::seconds(static_cast<int64_t>(formats_.elapsed_s + elapsed_s)));
    entry.effort = effort_;
    return entry;
  }

  void write_model() const {
    const std::filesystem::path file = options_.output.empty() ? space_.model() : options_.output;
    const LoadOptions load{options_.input_shapes, options_.threads, ""};
    write_om(file, LoadedModel::compiled(options_.model, load).model);
    listener_.written(file);
  }

  const DeviceLock lock_{0};  // before anything is made: who is refused leaves nothing behind
  const TuneOptions& options_;
  const TuneListener& listener_;
  WorkSpace space_;
  Journal journal_;
  Target target_;
  std::string id_, effort_;
  SystemTime began_;
  bool repeat_tune_ = false;
  bool formats_wanted_ = false;
  ModelFormats formats_;
  double layouts_share_ = 0;  // of the job's progress
  JobOptions job_;
  std::vector<OpenWorkload> workloads_;
  std::vector<std::optional<std::string>> in_bank_;
  std::map<int, OperatorOutcome> accepted_;  // so far, by workload
  TuningOutcome outcome_;
};

}  // namespace

TuningOutcome tune(const TuneOptions& options, const TuneListener& listener) {
  return Tuning(options, listener).run();
}

}  // namespace aoe
