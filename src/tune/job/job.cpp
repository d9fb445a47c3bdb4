#include "tune/job/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "expr/parse.h"
#include "policy/policy_text.h"
#include "policy/validate.h"
#include "tune/job/ablation.h"
#include "tune/job/whole_model.h"

// The order of a tuning job. In reading order: `choose` makes the searchers, with their transfer
// seeds; next_proven runs the rounds; `finish` ends the job; then the parts that these call.
//
//   choose -> [ search -> races -> confirmations ] ... -> last round -> explain -> whole model
//                a round; next_proven returns after each block that proves something
//
// Workloads are in waiting_ until they are started, then in tuned_; the first round has only a few.
//
// Invariant: every decision follows from the arguments and the runner's answers, which include the
// time used. So a job that runs again on its journal decides the same.

namespace aoe {
namespace {

// Number of workloads in the first round, those with the largest shares. The baseline of a workload
// is checked before it is tuned, and checking all of them would take as long as the round itself.
constexpr size_t kFirstWorkloads = 6;
// Time for explaining the proven policies, as a share of the time used so far.
constexpr double kExplainedShare = 0.05;
// Displayed progress of a job without a budget when the checks of the last round begin, and when
// the comparison of the whole model begins.
constexpr double kSearched = 0.5;
constexpr double kChecked = 0.85;

// Transfer seeds: policies of the same operator at other shapes, adapted to this one. Skip those
// that do not adapt.
std::vector<Policy> adapted(const Space& space, const std::vector<TransferSeed>& seeds) {
  std::vector<Policy> policies;
  for (const TransferSeed& one : seeds) {
    try {
      const Workload other = parse_workload(one.workload);
      const Policy theirs = parse_policy(one.policy, other);
      if (validate(theirs, other, space.device())) continue;
      if (auto seed = space.adapted(theirs, other)) policies.push_back(std::move(*seed));
    } catch (const Error&) {
      continue;
    }
  }
  return policies;
}

}  // namespace

Job::Job(Runner& runner, const Device& device, const JobOptions& options,
         std::function<void(const JobProgress&)> display)
    : options_(options),
      job_(runner, options.seed, options.budget_s, options.claims_made),
      device_(device),
      display_(std::move(display)),
      timetable_(options.budget_s),
      sampling_(job_, tuned_, options.runs),
      confirmation_(job_, tuned_, [this](JobProgress::Phase phase, double share) {
        report_progress(phase, last_ ? kSearched + (kChecked - kSearched) * share : 0);
      }) {}

const OpenedModel& Job::open() { return job_.open(); }

void Job::choose(const std::vector<bool>& chosen, const std::vector<TransferSeed>& seeds) {
  const OpenedModel& opened = job_.opened();
  // Both can come from a journal.
  require(
      opened.least_ns.size() == opened.workloads.size() && chosen.size() == opened.workloads.size(),
      "the journal has {} workloads, but {} bounds of their times and {} lookups in the bank: "
      "it is damaged",
      opened.workloads.size(), opened.least_ns.size(), chosen.size());
  for (size_t i = 0; i < opened.workloads.size(); ++i) {
    const OpenWorkload& one = opened.workloads[i];
    const double share = one.baseline_ns / pass_ns(opened);
    if (!chosen[i] || share < kLeastShare) continue;
    TunedWorkload tuned;
    tuned.workload = static_cast<int>(i);
    tuned.expectation = Expectation(share);
    auto workload = std::make_shared<Workload>(parse_workload(one.text));
    workload->numerics = one.numerics;
    tuned.parsed = std::move(workload);
    const auto space = std::make_shared<const Space>(tuned.parsed, device_);
    if (!(space->has_products() ? options_.kinds.cube : options_.kinds.vector)) continue;
    SearchPlan plan = plan_for(*space, options_.samples, options_.seed * 1000003 + i);
    plan.seeds = adapted(*space, transfer_seeds(one.text, seeds));
    const Policy baseline = parse_policy(one.policy, *tuned.parsed);
    if (baseline != space->default_policy()) {
      plan.seeds.insert(plan.seeds.begin(), space->default_policy());
    }
    tuned.memory = std::make_shared<SearchMemory>(space, ranker_, baseline);
    tuned.searcher = make_searcher(tuned.memory, std::move(plan));
    waiting_.push_back(std::move(tuned));
  }
  result_.chosen = waiting_.size();
  std::stable_sort(waiting_.begin(), waiting_.end(),
                   [](const TunedWorkload& a, const TunedWorkload& b) {
                     return a.expectation.part() > b.expectation.part();
                   });
}

std::vector<Accepted> Job::next_proven() {
  if (rounds_ == 0) begin();
  for (;;) {
    if (!checking_) {
      if (last_) return {};
      search();
    }
    while (confirmation_.goes_on()) {
      // Blocks of a proof are spread out in time, so that a state of the machine that lasts a
      // second cannot decide it: the search goes on between them.
      if (confirmation_.has_block() && !last_ && timetable_.search_goes_on(job_.elapsed_s())) {
        sampling_.step(search_goes_on());
      }
      std::vector<Accepted> proven = confirmation_.confirm_block();
      if (!proven.empty()) return proven;
    }
    finish_round();
  }
}

JobResult Job::finish() {
  for (const TunedWorkload& one : tuned_) {
    if (one.challenger) result_.undecided.push_back({one.workload, 1 / one.challenger->share});
  }
  std::vector<Accepted> proven = accepted();
  explain(proven);
  compare_whole_model(job_, std::move(proven), result_, [this](double share) {
    report_progress(JobProgress::Phase::whole_model, kChecked + (1 - kChecked) * share);
  });
  result_.elapsed_s = job_.elapsed_s();
  result_.tried = sampling_.timed();
  result_.expected_gain = sampling_.expected_gain();
  for (const TunedWorkload& one : tuned_) {
    result_.searched[one.workload] = one.memory->seen().size() - 1;  // one is the baseline
  }
  for (const TunedWorkload& one : waiting_) result_.searched[one.workload] = 0;
  return std::move(result_);
}

void Job::begin() {
  begin_with(kFirstWorkloads);
  timetable_.begin(job_.elapsed_s());
  if (timetable_.is_only_round()) begin_with(waiting_.size());
}

// Starts the next `count` waiting workloads. A workload whose baseline fails its check is not
// tuned: there is nothing to compare candidates with.
void Job::begin_with(size_t count) {
  count = std::min(count, waiting_.size());
  Request work;
  for (size_t i = 0; i < count; ++i) {
    const int number = waiting_[i].workload;
    work.compile.push_back({number, job_.workload(number).policy});
  }
  if (count == 0) return;
  const Answer done = job_.ask(work);
  for (size_t i = 0; i < count; ++i) {
    TunedWorkload& one = waiting_[i];
    if (const auto& failure = done.compiled[i]) {
      result_.failed.push_back(one.workload);
      job_.record_decision(fmt::format("workload {}", one.workload),
                           fmt::format("failed: {}, {}", name(failure->cause), failure->detail));
    } else {
      tuned_.push_back(std::move(one));
    }
  }
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<int64_t>(count));
}

void Job::search() {
  sampling_.run(
      [this] { return timetable_.round_goes_on(job_.elapsed_s()) && search_goes_on(); },
      [this] { report_progress(JobProgress::Phase::searching, kSearched * searched_by_count()); });
  last_ = !timetable_.search_goes_on(job_.elapsed_s()) || (waiting_.empty() && !search_goes_on());
  job_.record_decision(
      fmt::format("round {}", ++rounds_),
      fmt::format("{} candidates so far, as many again are expected to gain {}{}",
                  sampling_.timed(), sampling_.expected_gain(), last_ ? "; the last round" : ""));
  checking_ = true;
  confirmation_.race_and_open_proofs(timetable_.allowed_checks_s(job_.elapsed_s(), last_), last_);
}

void Job::finish_round() {
  checking_ = false;
  timetable_.record_checks(confirmation_.spent_s(), job_.elapsed_s(), confirmation_.expected_s());
  if (!last_) begin_with(waiting_.size());
}

// Whether there are candidates left and they are expected to gain enough.
bool Job::search_goes_on() const {
  if (sampling_.is_exhausted()) return false;
  if (!has_budget() && sampling_.proposed() >= all_samples()) return false;
  const bool begins = sampling_.proposed() == 0 || !waiting_.empty();
  return begins || sampling_.expected_gain() >= options_.least_gain;
}

bool Job::has_budget() const { return std::isfinite(options_.budget_s); }

double Job::searched_by_count() const {
  if (has_budget() || all_samples() == 0) return 0;
  return std::min(1.0,
                  static_cast<double>(sampling_.proposed()) / static_cast<double>(all_samples()));
}

// The proven policies by time saved in the model, largest first.
std::vector<Accepted> Job::accepted() const {
  std::vector<Accepted> all;
  for (const TunedWorkload& one : tuned_) {
    if (one.proven) all.push_back(*one.proven);
  }
  const auto saved_ns = [&](const Accepted& one) {
    return (one.gain.before_ns - one.gain.after_ns) * job_.uses(one.candidate.workload);
  };
  std::sort(all.begin(), all.end(),
            [&](const Accepted& a, const Accepted& b) { return saved_ns(a) > saved_ns(b); });
  return all;
}

// Finds out by ablation why the policies are faster, within kExplainedShare of the time used.
void Job::explain(std::vector<Accepted>& proven) {
  std::vector<Winner> winners;
  for (const Accepted& one : proven) {
    const auto tuned =
        std::find_if(tuned_.begin(), tuned_.end(), [&](const TunedWorkload& candidate) {
          return candidate.workload == one.candidate.workload;
        });
    winners.push_back({one.candidate, one.gain, tuned->memory.get()});
  }
  const double now_s = job_.elapsed_s();
  AblationCost cost;
  cost.allowed_s = timetable_.allowed_checks_s(now_s, true) > 0 ? kExplainedShare * now_s : 0;
  // About half of the time so far was spent on candidates.
  cost.candidate_s = 0.5 * now_s / static_cast<double>(std::max<size_t>(sampling_.proposed(), 1));
  cost.pass_s = pass_ns(job_.opened()) / 1e9;
  const std::vector<Explanation> explanations = explained(
      winners, job_.opened(), cost, [this](const Request& work) { return job_.ask(work); },
      job_.random);
  for (size_t i = 0; i < proven.size(); ++i) {
    proven[i].why = explanations[i];
    job_.record_decision(fmt::format("why workload {} is faster", proven[i].candidate.workload),
                         to_string(explanations[i]));
  }
}

// Phases repeat in every round, but the displayed share never decreases.
void Job::report_progress(JobProgress::Phase phase, double share) {
  shown_share_ = std::max({shown_share_, share, job_.elapsed_s() / options_.budget_s});
  JobProgress progress{phase, std::min(1.0, shown_share_), job_.elapsed_s(), sampling_.timed()};
  for (const TunedWorkload& one : tuned_) {
    if (one.proven) ++progress.proven;
    const double speed_up = 1 / one.best_share();
    if (speed_up <= progress.best_speed_up) continue;
    progress.best_speed_up = speed_up;
    progress.workload = one.workload;
  }
  display_(progress);
}

}  // namespace aoe
