#include "tune/job/trials.h"

#include <algorithm>
#include <cmath>
#include <limits>

// The comparisons of a job, in the order in which a candidate passes through them:
// interleave_passes and Screening (minimum of a few runs), then Races (order within rounds).
// paired_blocks.cpp has the comparisons that follow.
//
// None of them measures. Each composes a PassesRequest (`wanted`, `next`) and evaluates the answer
// (`results`, `add`), so that its results depend only on the answers and the random generator and
// are reproduced on replay. Candidate i of a request has the number id_of(i).

namespace aoe {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Index of a workload.
size_t index(int number) { return static_cast<size_t>(number); }

}  // namespace

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

}  // namespace aoe
