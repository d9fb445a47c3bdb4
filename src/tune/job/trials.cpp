#include "tune/job/trials.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/median.h"
#include "measure/statistics/block.h"

// The comparisons of a job, in the order in which a candidate passes through them:
// interleave_passes and Screening (minimum of a few runs), Races (order within rounds), block_pairs
// and Proofs (blocks of pairs for the sequential test).
//
// None of them measures. Each composes a PassesRequest (`wanted`, `next`) and evaluates the answer
// (`results`, `add`), so that its results depend only on the answers and the random generator and
// are reproduced on replay. Candidate i of a request has the number id_of(i).
//
// Passes of a block (Proofs::next) for candidate 1 of workload 0 and candidate 2 of workload 2; 0
// is the baseline. In a round of a race, a column has each participant of its workload once.
//
//              workload   0   1   2
//   warm-up               1   0   2     all candidates in one of the two passes, the baseline in
//   warm-up               0   0   0     the other; not counted
//   pair 0                0   0   2     each candidate in one pass of a pair, chosen at random and
//                         1   0   0     separately for each workload
//   pair 1                1   0   2
//                         0   0   0

namespace aoe {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Index of a workload.
size_t index(int number) { return static_cast<size_t>(number); }

// After so many losses of a worker that no candidate is to blame for, a comparison is given up. The
// Worker itself repeats a request twice if its process was killed from outside, so that losses are
// rare, and three have a lasting cause. A loss with a culprit removes the candidate instead: the
// others are asked for again without it.
constexpr size_t kMostLosses = 3;

bool is_failed(const PassesResult& measured, size_t candidate) {
  return std::any_of(measured.failed.begin(), measured.failed.end(),
                     [&](const auto& failed) { return failed.candidate == id_of(candidate); });
}

}  // namespace

bool has_culprit(const PassesResult& measured) {
  return std::any_of(measured.failed.begin(), measured.failed.end(),
                     [](const auto& failed) { return failed.candidate != CandidateId::baseline; });
}

std::vector<Assignment> interleave_passes(std::vector<std::vector<CandidateId>> turns, size_t runs,
                                          Random& random) {
  size_t longest = 0;
  for (const auto& turn : turns) longest = std::max(longest, turn.size());
  for (auto& turn : turns) turn.resize(longest, turn.front());
  std::vector<Assignment> passes;
  for (size_t run = 0; run < runs; ++run) {
    for (auto& turn : turns) std::shuffle(turn.begin(), turn.end(), random);
    for (size_t i = 0; i < longest; ++i) {
      Assignment pass;
      for (const auto& turn : turns) pass.workloads.push_back(turn[i]);
      passes.push_back(std::move(pass));
    }
  }
  return passes;
}

Screening::Screening(std::vector<Candidate> candidates, const OpenedModel& opened, size_t runs,
                     Random& random)
    : opened_(opened), options_{.runs = (runs + 1) / 2} {
  wanted_.candidates = std::move(candidates);
  if (wanted_.candidates.empty()) return;
  std::vector<std::vector<CandidateId>> turns(opened.workloads.size(), {CandidateId::baseline});
  for (size_t i = 0; i < wanted_.candidates.size(); ++i) {
    turns[index(wanted_.candidates[i].workload)].push_back(id_of(i));
  }
  wanted_.passes = interleave_passes(std::move(turns), options_.runs, random);
  for (const OpenWorkload& one : opened.workloads) {
    wanted_.limits_ns.push_back(options_.hopeless * one.baseline_ns);
  }
}

std::vector<ScreenResult> Screening::results(const PassesResult& measured) const {
  std::vector<ScreenResult> results;
  for (size_t i = 0; i < wanted_.candidates.size(); ++i) {
    if (is_failed(measured, i)) {
      results.push_back({Screened::failed});
      continue;
    }
    const size_t workload = index(wanted_.candidates[i].workload);
    std::vector<double> runs_ns;
    double baseline = kNever;
    for (size_t p = 0; p < measured.passes.size(); ++p) {
      const double ns = measured.passes[p].workload_ns[workload];
      const CandidateId candidate = wanted_.passes[p].workloads[workload];
      if (candidate == CandidateId::baseline) baseline = std::min(baseline, ns);
      else if (candidate == id_of(i)) runs_ns.push_back(ns);
    }
    ScreenResult result{screen_runs(runs_ns, baseline, opened_.least_ns[workload], options_)};
    if (result.screened == Screened::kept) {
      result.relative_time = *std::min_element(runs_ns.begin(), runs_ns.end()) / baseline;
    }
    results.push_back(result);
  }
  return results;
}

Races::Races(size_t workloads, std::vector<Candidate> entrants, Random& random)
    : workloads_(workloads),
      entrants_(std::move(entrants)),
      random_(random),
      failed_(entrants_.size()) {
  for (size_t i = 0; i < entrants_.size(); ++i) {
    const auto same = [&](const One& one) { return one.workload == entrants_[i].workload; };
    auto found = std::find_if(races_.begin(), races_.end(), same);
    if (found == races_.end()) {
      races_.push_back({entrants_[i].workload, {}, {}, {}});
      found = races_.end() - 1;
    }
    found->entrants.push_back(i);
  }
  for (One& one : races_) {
    one.race.remaining.resize(one.entrants.size() + 1);
    for (size_t p = 0; p < one.race.remaining.size(); ++p) one.race.remaining[p] = p;
  }
}

bool Races::over() const {
  return std::all_of(races_.begin(), races_.end(), [](const One& one) { return one.race.over; });
}

double Races::share() const {
  return std::min(1.0,
                  static_cast<double>(rounds_) / static_cast<double>(RaceOptions{}.most_rounds));
}

PassesRequest Races::next() {
  // As many as RaceOptions::far_rounds: after one request, participants far behind can be dropped.
  constexpr int kRoundsAtOnce = 4;
  PassesRequest wanted{.candidates = entrants_};
  asked_.clear();
  for (int round = 0; round < kRoundsAtOnce; ++round) {
    std::vector<std::vector<CandidateId>> turns(workloads_);
    size_t longest = 1;
    for (const One& one : races_) {
      if (one.race.over) continue;
      auto& turn = turns[index(one.workload)];
      for (const size_t p : one.race.remaining) {
        if (!is_out(one, p)) turn.push_back(id_of_participant(one, p));
      }
      std::shuffle(turn.begin(), turn.end(), random_);
      longest = std::max(longest, turn.size());
    }
    asked_.emplace_back();
    for (size_t i = 0; i < longest; ++i) {
      Assignment pass;
      for (const auto& turn : turns) {
        pass.workloads.push_back(i < turn.size() ? turn[i] : CandidateId::baseline);
      }
      wanted.passes.push_back(pass);
      asked_.back().push_back(std::move(pass));
    }
  }
  return wanted;
}

void Races::add_round(One& one, const std::vector<Assignment>& asked,
                      std::span<const Pass> passes) {
  std::vector<double> ns(one.entrants.size() + 1);
  for (const size_t p : one.race.remaining) {
    if (is_out(one, p)) ns[p] = std::numeric_limits<double>::max();
    for (size_t i = 0; i < passes.size() && ns[p] == 0; ++i) {
      if (asked[i].workloads[index(one.workload)] != id_of_participant(one, p)) continue;
      ns[p] = passes[i].workload_ns[index(one.workload)];
      // An abandoned candidate comes last in every round.
      if (std::isnan(ns[p])) ns[p] = std::numeric_limits<double>::max();
    }
  }
  one.rounds_ns.push_back(std::move(ns));
}

void Races::add(const PassesResult& measured) {
  for (size_t i = 0; i < entrants_.size(); ++i) {
    if (is_failed(measured, i)) failed_[i] = true;
  }
  if (measured.passes.empty() && !has_culprit(measured)) ++losses_;
  std::span<const Pass> left = measured.passes;
  for (const std::vector<Assignment>& round : asked_) {
    if (left.size() < round.size()) break;
    ++rounds_;
    for (One& one : races_) {
      if (!one.race.over) add_round(one, round, left.first(round.size()));
    }
    left = left.subspan(round.size());
  }
  for (One& one : races_) {
    if (one.race.over) continue;
    if (!one.rounds_ns.empty()) one.race = race_of(one.rounds_ns);
    const bool all_out = std::all_of(one.entrants.begin(), one.entrants.end(),
                                     [&](size_t entrant) { return failed_[entrant]; });
    if (all_out || losses_ >= kMostLosses) one.race.over = true;
  }
}

std::optional<size_t> Races::winner(int workload) const {
  for (const One& one : races_) {
    if (one.workload != workload || one.rounds_ns.empty()) continue;
    for (const size_t p : one.race.remaining) {
      if (p == 0) return std::nullopt;
      if (failed_[one.entrants[p - 1]]) continue;
      if (one.race.speed_up[p] > 1) return one.entrants[p - 1];
      return std::nullopt;
    }
  }
  return std::nullopt;
}

double Races::speed_up(size_t entrant) const {
  for (const One& one : races_) {
    const auto found = std::find(one.entrants.begin(), one.entrants.end(), entrant);
    if (found == one.entrants.end() || one.rounds_ns.empty() || failed_[entrant]) continue;
    return one.race.speed_up[static_cast<size_t>(found - one.entrants.begin()) + 1];
  }
  return 0;
}

double pass_ns(const OpenedModel& opened) {
  double total = 0;
  for (const OpenWorkload& one : opened.workloads) total += one.baseline_ns;
  return std::max(total, 1.0);
}

// The limit of 64 keeps requests and their journal entries short, which list every pass. Models
// with passes of less than 0.6 ms reach it.
size_t block_pairs(const OpenedModel& opened) {
  const BlockOptions block;
  return std::clamp<size_t>(static_cast<size_t>(block.block_ns / (2 * pass_ns(opened))),
                            block.fewest_pairs, 64);
}

Proofs::Proofs(size_t workloads, std::vector<Candidate> candidates,
               std::vector<std::vector<size_t>> groups, bool whole, size_t pairs,
               const ProofOptions& options, Random& random)
    : workloads_(workloads),
      candidates_(std::move(candidates)),
      whole_(whole),
      pairs_(pairs),
      options_(options),
      random_(random) {
  for (auto& group : groups) groups_.push_back({std::move(group), {}, {}});
}

void Proofs::resume(size_t group, ProofSamples evidence) {
  groups_[group].evidence = std::move(evidence);
  groups_[group].proof = proof_of(groups_[group].evidence.speed_ups, options_);
}

bool Proofs::over() const {
  return losses_ >= kMostLosses ||
         std::all_of(groups_.begin(), groups_.end(), [](const Group& group) {
           return group.proof.decision != ProofDecision::undecided;
         });
}

double Proofs::share() const {
  return std::min(1.0, static_cast<double>(blocks_) / static_cast<double>(options_.most_blocks));
}

PassesRequest Proofs::next() {
  PassesRequest wanted{.fresh = true, .candidates = candidates_};
  const auto pass = [&](const std::vector<bool>& changed) {
    Assignment assignment{std::vector<CandidateId>(workloads_)};
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (!changed[g] || groups_[g].proof.decision == ProofDecision::rejected) continue;
      for (const size_t i : groups_[g].candidates) {
        if (candidates_[i].is_plan()) assignment.plan = id_of(i);
        else assignment.workloads[index(candidates_[i].workload)] = id_of(i);
      }
    }
    wanted.passes.push_back(std::move(assignment));
  };
  // Two uncounted passes for warm-up, in random order, because the placement of memory depends on
  // which plan is loaded first.
  const bool candidates_first = (random_() & 1) != 0;
  pass(std::vector<bool>(groups_.size(), candidates_first));
  pass(std::vector<bool>(groups_.size(), !candidates_first));
  candidate_first_.clear();
  for (size_t i = 0; i < pairs_; ++i) {
    std::vector<bool> first(groups_.size());
    for (size_t g = 0; g < first.size(); ++g) first[g] = (random_() & 1) != 0;
    pass(first);
    candidate_first_.push_back(first);
    first.flip();
    pass(first);
  }
  return wanted;
}

double Proofs::time_of(const Group& group, const Pass& pass) const {
  if (whole_) return pass.total_ns;
  double ns = 0;
  for (const size_t i : group.candidates) ns += pass.workload_ns[index(candidates_[i].workload)];
  return ns;
}

void Proofs::add(const PassesResult& measured) {
  ++blocks_;
  for (Group& group : groups_) {
    for (const size_t i : group.candidates) {
      if (is_failed(measured, i)) group.proof.decision = ProofDecision::rejected;
    }
  }
  if (measured.passes.size() != 2 + 2 * pairs_) {
    if (!has_culprit(measured)) ++losses_;
    return;
  }
  for (size_t g = 0; g < groups_.size(); ++g) {
    Group& group = groups_[g];
    if (group.proof.decision != ProofDecision::undecided) continue;
    std::vector<double> before;
    std::vector<double> after;
    for (size_t i = 0; i < pairs_; ++i) {
      const double first = time_of(group, measured.passes[2 + 2 * i]);
      const double second = time_of(group, measured.passes[3 + 2 * i]);
      before.push_back(candidate_first_[i][g] ? second : first);
      after.push_back(candidate_first_[i][g] ? first : second);
    }
    ProofSamples& evidence = group.evidence;
    evidence.speed_ups.push_back(block_speed_up(before, after));
    evidence.before_ns.insert(evidence.before_ns.end(), before.begin(), before.end());
    group.proof = proof_of(evidence.speed_ups, options_);
  }
}

Gain Proofs::gain(size_t group) const {
  const auto& [_, evidence, proof] = groups_[group];
  const double middle_ns = median(evidence.before_ns);
  // after_ns comes from the median speed-up and not from the candidate's times: the proof is about
  // ratios within pairs.
  return {.before_ns = middle_ns,
          .after_ns = middle_ns / proof.speed_up.median,
          .speedup_low = proof.speed_up.low,
          .speedup_high = proof.speed_up.high,
          .samples = static_cast<int64_t>(evidence.before_ns.size())};
}

}  // namespace aoe
