#include "tune/tune.h"

#include <fmt/ranges.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/notice.h"
#include "expr/parse.h"
#include "measure/host/device_lock.h"
#include "policy/policy_text.h"
#include "runtime/loaded_model.h"
#include "tune/job/job.h"
#include "tune/model_layouts.h"
#include "tune/runner/journaled_runner.h"
#include "tune/runner/worker_runner.h"
#include "tune/setup/work_space.h"
#include "tune/store.h"

// A tuning job from its options to the bank (docs/tuning.md), in the order in which `Tuning` runs:
//   begin             the identity and the options of the job, from the journal if it is resumed
//   tune_layouts      if requested, before the operators, which are tuned in the new layouts
//   tune_operators    opens the model, leaves out workloads that the bank has, runs the rounds of a
//                     Job and reports proven policies at once
//   finish            stores the policies that carried over, writes the tuned model
//
// Invariant: everything that may differ between two runs of the same job (measurements, the clock,
// the random id, the contents of the bank) is read through the journal, so that a resumed job
// repeats the same requests and reaches the same decisions.

namespace aoe {
namespace {

using Json = nlohmann::json;
using SystemClock = std::chrono::system_clock;

// Mean number of candidates per workload at normal effort: in the gym (docs/tuning.md) little of
// the gap is left after as many. A job with more candidates continues for proportionally smaller
// expected gains (JobOptions::least_gain).
constexpr size_t kSamples = 48;

std::vector<std::string> types_of(const OpenWorkload& workload) {
  std::vector<std::string> types;
  for (const auto& node : workload.nodes) {
    if (std::find(types.begin(), types.end(), node.type) == types.end()) types.push_back(node.type);
  }
  return types;
}

// The most significant change: algorithm before layout before schedule.
TuningMode mode_of(const std::string& workload, const std::string& before, const std::string& after,
                   bool layout_changed) {
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
  return layout_changed ? TuningMode::format : TuningMode::schedule;
}

// "O2", "O1 deeper 90s": what a later job of no higher effort need not repeat (bank/join.h).
std::string effort_text(const TuneOptions& options) {
  return fmt::format("{}{}{}", name(options.effort), options.deeper ? " deeper" : "",
                     options.budget_s ? fmt::format(" {}s", *options.budget_s) : "");
}

Json impl_json(const ImplMode& impl) { return {impl.mode, impl.op_types, impl.allow_strassen}; }

// "with --op_select_implmode=high_precision --optypelist_for_implmode=Conv"
std::string impl_text(const Json& json) {
  const std::vector<std::string> options = ImplMode{json.at(0), json.at(1), json.at(2)}.options();
  if (options.empty()) {
    return "without --op_select_implmode, --optypelist_for_implmode and --allow_strassen";
  }
  return fmt::format("with {}", fmt::join(options, " "));
}

class Tuning {
 public:
  Tuning(const TuneOptions& options, const std::shared_ptr<const Backend>& backend,
         const TuneListener& listener)
      : options_(options),
        backend_(backend),
        device_(backend->device()),
        listener_(listener),
        space_(options.reload ? work_space_to_reload(options)
                              : new_work_space(options, SystemClock::now())),
        journal_(space_.journal(),
                 options.reload ? Journal::Start::reload : Journal::Start::fresh) {}

  TuningOutcome run() {
    begin();
    if (std::filesystem::exists(space_.finished())) {
      notice(
          fmt::format("the job in '{}' is finished, and this is its result; start a new one to "
                      "search further",
                      space_.folder.string()));
    }
    listener_.on_started(space_.folder);
    if (layouts_wanted_) tune_layouts();
    tune_operators();
    return std::move(outcome_);
  }

 private:
  // Comes before the operators, so that they are tuned in the chosen layouts.
  void tune_layouts() {
    const auto display = [&](double share, double elapsed_s) {
      layouts_share_ = share;
      listener_.on_progress({JobProgress::Phase::layouts, share, elapsed_s}, "");
    };
    layouts_ = tune_model_layouts(journal_, options_, device_, identity_, job_.budget_s, display,
                                  listener_.is_stopped);
    job_.budget_s -= layouts_.elapsed_s;
    outcome_.formats = layouts_.line;
    outcome_.layouts = layouts_.outcome;
    listener_.on_changed(outcome_);
  }

  void tune_operators() {
    JournaledRunner runner(journal_, [&] {
      WorkerRunnerOptions workers;
      workers.target.model = options_.model;
      workers.target.input_shapes = options_.input_shapes;
      workers.target.threads = options_.threads;
      workers.target.impl = options_.impl;
      workers.device = device_;
      workers.compile_jobs = options_.compile_jobs;
      workers.stopped = listener_.is_stopped;
      return worker_runner(std::move(workers));
    });
    // Policies must not use more threads than the model runs on.
    Device device = device_;
    device.cores = options_.threads;
    Job job(runner, device, job_, [&](const JobProgress& now) { show(now); });
    const OpenedModel& opened = job.open();
    workloads_ = opened.workloads;
    outcome_.margin = opened.margin;
    outcome_.has_operators = !workloads_.empty();
    in_bank_ = known_in_bank();
    std::vector<bool> chosen;
    for (const KnownInBank& known : in_bank_) {
      const bool is_known = known.is_in_bank() || known.is_remembered;
      chosen.push_back(is_to_be_tuned(is_known, repeats(known)));
      if (!chosen.back() && !known.is_in_bank()) ++outcome_.remembered;
    }
    job.choose(chosen, transfer_seeds_in_bank());
    // Report proven policies at once, although some may not carry over to the whole model.
    std::map<int, OperatorOutcome> proven_so_far;
    for (auto proven = job.next_proven(); !proven.empty(); proven = job.next_proven()) {
      for (const Accepted& one : proven) {
        proven_so_far.insert_or_assign(one.candidate.workload, outcome_of(one));
      }
      outcome_.operators.clear();
      for (const auto& [_, outcome] : proven_so_far) outcome_.operators.push_back(outcome);
      listener_.on_changed(outcome_);
    }
    finish(job.finish());
  }

  void show(JobProgress now) const {
    now.share = layouts_share_ + (1 - layouts_share_) * now.share;
    now.elapsed_s += layouts_.elapsed_s;
    listener_.on_progress(
        now, now.workload < 0 ? "" : name_of(workloads_[static_cast<size_t>(now.workload)]));
  }

  // Determines the identity and the options of the job. A resumed job keeps those of its start.
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
                  {"impl", impl_json(options_.impl)},
                  {"effort", effort_text(options_)},
                  {"samples", samples.at(options_.effort) * (options_.deeper ? 4 : 1)},
                  {"cube", kinds.cube},
                  {"vector", kinds.vector},
                  {"formats", options_.formats},
                  {"budget_s", options_.budget_s ? Json(*options_.budget_s) : Json()},
                  {"run_loop", options_.run_loop},
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
    require(job.at("impl") == impl_json(options_.impl),
            "--reload: the job in '{}' may use other algorithms: it was begun {}",
            space_.folder.string(), impl_text(job.at("impl")));
    identity_.id = job.at("id");
    identity_.began = SystemTime(std::chrono::seconds(job.at("began_s").get<int64_t>()));
    identity_.effort = job.at("effort");
    identity_.repeat_tune = job.at("repeat_tune");
    identity_.target = target_of(device_, options_.threads);
    identity_.processor = device_.processor;
    identity_.fingerprint = device_.fingerprint;
    layouts_wanted_ = job.at("formats");
    job_.claims_made = layouts_wanted_ ? 1 : 0;
    job_.seed = stable_hash(identity_.id);
    job_.samples = job.at("samples");
    job_.runs = job.at("run_loop");
    job_.least_gain *= static_cast<double>(kSamples) / static_cast<double>(job_.samples);
    job_.kinds = {job.at("cube"), job.at("vector")};
    if (!job.at("budget_s").is_null()) job_.budget_s = job.at("budget_s");
    outcome_.name = options_.model.stem().string();
    outcome_.journal = std::filesystem::absolute(space_.folder).lexically_normal();
    listener_.on_changed(outcome_);
  }

  Bank bank() const {
    return Bank::for_writing(options_.banks, BankKind::operators, identity_.target.soc_version);
  }

  WantedEntry wanted(size_t workload) const {
    return {workloads_[workload].text, workloads_[workload].numerics};
  }

  // Whether a workload is tuned although a bank has it.
  bool repeats(const KnownInBank& known) const { return identity_.repeat_tune || known.is_aged; }

  // Read through the journal.
  std::vector<KnownInBank> known_in_bank() {
    const std::string found = journal_.ask("bank", [&] {
      bank();  // fails now if it cannot be written
      std::vector<WantedEntry> all;
      for (size_t i = 0; i < workloads_.size(); ++i) all.push_back(wanted(i));
      return to_json_text(known_in_banks(options_.banks, BankKind::operators, all, identity_));
    });
    std::vector<KnownInBank> known = parse_known_in_bank(found);
    require(known.size() == workloads_.size(),
            "the journal has {} workloads, but {} lookups in the bank: it is damaged",
            workloads_.size(), known.size());
    for (size_t i = 0; i < known.size(); ++i) {
      const std::optional<std::string>& policy = known[i].policy;
      known[i].is_invalid = policy && !runs_by(workloads_[i], *policy);
    }
    return known;
  }

  // Policies in the banks for other shapes of the model's operators. Read through the journal.
  std::vector<TransferSeed> transfer_seeds_in_bank() {
    const Json found = Json::parse(journal_.ask("known policies", [&] {
      std::vector<std::string> texts;
      for (const OpenWorkload& workload : workloads_) texts.push_back(workload.text);
      Json list = Json::array();
      for (const auto& [workload, policy] :
           seeds_in_banks(options_.banks, texts, identity_.target)) {
        list.push_back({workload, policy});
      }
      return list.dump();
    }));
    std::vector<TransferSeed> seeds;
    for (const Json& one : found) seeds.push_back({one.at(0), one.at(1)});
    return seeds;
  }

  OperatorOutcome outcome_of(const Accepted& accepted) const {
    const auto at = static_cast<size_t>(accepted.candidate.workload);
    const OpenWorkload& workload = workloads_[at];
    OperatorOutcome outcome;
    outcome.name = name_of(workload);
    outcome.types = types_of(workload);
    outcome.mode = mode_of(workload.text, workload.policy, accepted.candidate.choice,
                           layouts_.changed.contains(workload.text));
    outcome.tuned = tuned(in_bank_[at].is_in_bank(), repeats(in_bank_[at]), true);
    outcome.gain = accepted.gain;
    outcome.margin = outcome_.margin;
    outcome.measurements = {evidence_name(at)};
    outcome.policy_before = workload.policy;
    outcome.policy_after = accepted.candidate.choice;
    outcome.why = accepted.why;
    return outcome;
  }
  std::string evidence_name(size_t workload) const {
    return fmt::format("{}/{}", identity_.id, workload);
  }

  // The entry of a workload, still without what was found about it.
  BankEntry entry_of_workload(size_t at) const {
    BankEntry entry = entry_of(identity_, wanted(at), evidence_name(at), outcome_.seconds);
    for (const auto& node : workloads_[at].nodes) {
      if (!node.name.empty()) entry.names.insert(node.name);
      entry.types.insert(node.type);
    }
    entry.baseline = workloads_[at].policy;
    return entry;
  }

  BankEntry entry_of_policy(const Accepted& accepted) const {
    const auto at = static_cast<size_t>(accepted.candidate.workload);
    BankEntry entry = entry_of_workload(at);
    entry.policy = accepted.candidate.choice;
    entry.gain = accepted.gain;
    const KnownInBank& known = in_bank_[at];
    const bool is_from_bank = known.baseline && runs_by(workloads_[at], *known.baseline);
    entry.total_low =
        speed_up_of_both(is_from_bank ? known.baseline_low : 1, accepted.gain.speedup_low);
    return entry;
  }

  // Remembers the workloads that were tuned without gain, so that no later job of this effort tunes
  // them again; and that aged policies were. Also those for which the time did not suffice: it is
  // part of the effort, and a job with as much would come no further. But not if nothing could be
  // timed.
  void remember(Bank& into, const JobResult& result, const std::vector<bool>& better) const {
    if (result.tried == 0) return;
    std::vector<BankEntry> entries;
    for (const auto& [workload, candidates] : result.searched) {
      const auto at = static_cast<size_t>(workload);
      if (better[at]) continue;
      BankEntry entry = entry_of_workload(at);
      if (in_bank_[at].is_in_bank()) {
        if (!in_bank_[at].is_aged) continue;
        auto kept = rejuvenated(options_.banks, BankKind::operators, *in_bank_[at].policy, entry);
        if (kept) entries.push_back(std::move(*kept));
        continue;
      }
      entry.gain = {.before_ns = workloads_[at].baseline_ns,
                    .samples = static_cast<int64_t>(candidates)};
      entries.push_back(std::move(entry));
    }
    into.merge(entries);
  }

  void finish(const JobResult& result) {
    Bank into = bank();
    outcome_.operators.clear();
    outcome_.seconds = layouts_.elapsed_s + result.elapsed_s;
    std::vector<bool> better(workloads_.size());
    for (const Accepted& accepted : result.accepted) {
      const OperatorOutcome outcome = outcome_of(accepted);
      const auto at = static_cast<size_t>(accepted.candidate.workload);
      BankEntry entry = entry_of_policy(accepted);
      entry.mode = name(outcome.mode);
      better[at] = true;
      if (!store(into, entry, in_bank_[at].policy, outcome.name)) continue;
      outcome_.operators.push_back(outcome);
    }
    remember(into, result, better);
    count(result);
    if (result.before_ns > 0) outcome_.baseline_ns = result.before_ns;
    outcome_.model = result.gain;
    outcome_.unproven_model = result.unproven_gain;
    if (layouts_.outcome) add_layouts(*layouts_.outcome);
    outcome_.dropped = result.dropped;
    outcome_.chosen = result.chosen;
    outcome_.tried = result.tried;
    for (const auto& [workload, speed_up] : result.undecided) {
      outcome_.undecided.push_back({name_of(workloads_[static_cast<size_t>(workload)]), speed_up});
    }
    if (result.expected_gain >= job_.least_gain) outcome_.expected_gain = result.expected_gain;
    write_model();
    outcome_.state = outcome_.failed_operators.empty() ? TuningOutcome::State::successful
                                                       : TuningOutcome::State::failed;
    listener_.on_changed(outcome_);
    std::ofstream(space_.finished()).close();
  }

  // A policy that was proven but not stored, because another job has stored one, counts as not
  // proven better.
  void count(const JobResult& result) {
    std::set<std::string> stored;
    for (const OperatorOutcome& one : outcome_.operators) {
      stored.insert(one.measurements.begin(), one.measurements.end());
    }
    size_t hits = 0;
    for (size_t i = 0; i < workloads_.size(); ++i) {
      const bool is_failed = std::find(result.failed.begin(), result.failed.end(),
                                       static_cast<int>(i)) != result.failed.end();
      if (is_failed) {
        outcome_.failed_operators.push_back(name_of(workloads_[i]));
        continue;
      }
      const KnownInBank& known = in_bank_[i];
      hits += known.is_in_bank() ? 1 : 0;
      outcome_.counts.count(
          tuned(known.is_in_bank(), repeats(known), stored.contains(evidence_name(i))));
    }
    check_counts(outcome_.counts, {.workloads = workloads_.size(),
                                   .failed = outcome_.failed_operators.size(),
                                   .in_bank = hits,
                                   .stored = outcome_.operators.size()});
  }

  // Adds the gain of the layouts to the model's. The operators were compared with the model in its
  // new layouts, so the two gains multiply.
  void add_layouts(const OperatorOutcome& layouts) {
    outcome_.baseline_ns = layouts.gain.before_ns;
    // Both gains are proven, each by its margin.
    outcome_.margin = outcome_.model ? std::min(outcome_.margin, layouts.margin) : layouts.margin;
    outcome_.model = outcome_.model ? combined_gain(layouts.gain, *outcome_.model) : layouts.gain;
    outcome_.unproven_model.reset();
    for (const OpenWorkload& workload : workloads_) {
      if (!layouts_.changed.contains(workload.text)) continue;
      for (const std::string& type : types_of(workload)) {
        std::vector<std::string>& types = outcome_.layouts->types;
        if (std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
      }
    }
  }

  void write_model() const {
    const std::filesystem::path file = options_.output.empty() ? space_.model() : options_.output;
    LoadOptions load{options_.input_shapes, options_.threads, ""};
    load.impl = options_.impl;
    write_om(file, LoadedModel::compiled(options_.model, load, backend_).model);
    listener_.on_written(file);
  }

  const DeviceLock lock_{0};  // first member: a job that is refused the lock creates no files
  const TuneOptions& options_;
  const std::shared_ptr<const Backend>& backend_;
  const Device& device_;
  const TuneListener& listener_;
  WorkSpace space_;
  Journal journal_;
  JobIdentity identity_;
  JobOptions job_;
  bool layouts_wanted_ = false;
  ModelLayouts layouts_;
  double layouts_share_ = 0;  // displayed progress at the end of tune_layouts
  std::vector<OpenWorkload> workloads_;
  std::vector<KnownInBank> in_bank_;  // for each workload
  TuningOutcome outcome_;
};

}  // namespace

TuningOutcome tune(const TuneOptions& options, const std::shared_ptr<const Backend>& backend,
                   const TuneListener& listener) {
  return Tuning(options, backend, listener).run();
}

}  // namespace aoe
