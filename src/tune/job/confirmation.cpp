#include "tune/job/confirmation.h"

#include <fmt/format.h>

#include <algorithm>

#include "measure/statistics/proof.h"
#include "policy/policy_text.h"

// The races and confirmations of a round. In reading order:
//   share_to_beat, finalists, racing        which policies race, from what was screened
//   race_and_open_proofs, race              the winner of a race becomes the challenger
//   open_proofs, goes_on, confirm_block     blocks for all challengers at once, one per call
//   accept                                  a confirmed challenger becomes the proven policy
//
// Invariant: a policy races once, and times of races are no evidence of a confirmation. Evidence
// belongs to one challenger: it is kept between rounds, and dropped when another one takes over.

namespace aoe {
namespace {

constexpr size_t kFinalists = 3;
// Before the last round, a candidate races only if its screened time is below this share of the
// time to beat: a smaller gain may be noise, and better candidates may follow.
constexpr double kClearShare = 0.97;
// Before the last round, once something is proven, only the workloads that make up this share of
// the expected gain race, largest first.
constexpr double kMostOfPromises = 0.8;
// Blocks of a confirmation before the last round: enough for a proof of one of the first claims if
// all but one agree.
constexpr size_t kEarlyBlocks = 16;
// Factor on the expected duration of later checks: they cover more workloads, and their races are
// longer.
constexpr double kLastIsLonger = 1.5;
// Before the last round, races end after this share of their maximum number of rounds: the leader
// by then is good enough to be confirmed.
constexpr double kEarlyRace = 0.5;
// A policy must beat the best proven one by this factor to be worth a confirmation.
constexpr double kWorthwhile = 1.01;

}  // namespace

double Confirmation::share_to_beat(const TunedWorkload& tuned) {
  if (tuned.challenger) return tuned.challenger->share;
  return tuned.proven ? tuned.proven->gain.after_ns / tuned.proven->gain.before_ns : 1;
}

Confirmation::Finalists Confirmation::finalists(size_t index, bool last) const {
  const TunedWorkload& tuned = tuned_[index];
  Finalists found{.tuned = index, .policies = {}, .promise = 0};
  const double bar = share_to_beat(tuned);
  for (const SearchMemory::Seen& seen : tuned.memory->seen()) {
    if (found.policies.size() == kFinalists || seen.share >= (last ? 1 : kClearShare) * bar) break;
    std::string text = to_string(seen.policy, *tuned.parsed);
    if (!tuned.raced.contains(text)) found.policies.push_back({std::move(text), seen.share});
  }
  if (!found.policies.empty()) {
    found.promise = tuned.expectation.part() * (bar - found.policies[0].share);
  }
  return found;
}

std::vector<Confirmation::Finalists> Confirmation::racing(bool last) const {
  std::vector<Finalists> all;
  double promised = 0;
  for (size_t i = 0; i < tuned_.size(); ++i) {
    Finalists found = finalists(i, last);
    if (found.policies.empty()) continue;
    promised += found.promise;
    all.push_back(std::move(found));
  }
  const bool any_proven = std::any_of(tuned_.begin(), tuned_.end(), [](const TunedWorkload& one) {
    return one.proven.has_value();
  });
  if (last || !any_proven) return all;
  std::stable_sort(all.begin(), all.end(),
                   [](const Finalists& a, const Finalists& b) { return a.promise > b.promise; });
  double looked_at = 0;
  size_t count = 0;
  while (count < all.size() && looked_at < kMostOfPromises * promised) {
    looked_at += all[count++].promise;
  }
  all.resize(count);
  return all;
}

void Confirmation::race_and_open_proofs(double allowed_s, bool last) {
  allowed_s_ = allowed_s;
  spent_s_ = 0;
  last_ = last;
  const double began_s = job_.elapsed_s();
  race();
  spent_s_ = job_.elapsed_s() - began_s;
  open_proofs();
}

void Confirmation::race() {
  const std::vector<Finalists> racing_now = racing(last_);
  std::vector<Candidate> entrants;
  // For each racing workload: the entrant to beat, its challenger or proven policy. If it has
  // neither, an index that is no entrant of this workload.
  std::vector<size_t> to_beat;
  for (const Finalists& one : racing_now) {
    const TunedWorkload& tuned = tuned_[one.tuned];
    for (const ScreenedPolicy& seen : one.policies) {
      entrants.push_back({tuned.workload, seen.policy});
    }
    to_beat.push_back(entrants.size());
    if (tuned.challenger) entrants.push_back({tuned.workload, tuned.challenger->policy});
    else if (tuned.proven) entrants.push_back(tuned.proven->candidate);
  }
  Races races(job_.workloads(), entrants, job_.random);
  const auto decided = [&] { return races.over() || (!last_ && races.share() >= kEarlyRace); };
  const double end_s = job_.elapsed_s() + allowed_s_;
  while (!decided() && job_.elapsed_s() < end_s) {
    races.add(job_.ask({{}, races.next()}).measured);
    on_progress_(JobProgress::Phase::racing, races.share());
  }
  for (size_t i = 0; i < racing_now.size(); ++i) {
    TunedWorkload& tuned = tuned_[racing_now[i].tuned];
    if (decided()) {
      for (const ScreenedPolicy& seen : racing_now[i].policies) tuned.raced.insert(seen.policy);
    }
    const auto winner = races.winner(tuned.workload);
    const bool has_rival = tuned.challenger || tuned.proven;
    const bool wins =
        winner && *winner != to_beat[i] &&
        (!has_rival || races.speed_up(*winner) > kWorthwhile * races.speed_up(to_beat[i]));
    if (wins) {
      const std::string name = fmt::format("workload {}", tuned.workload);
      job_.record_decision("race of " + name, entrants[*winner].choice);
      tuned.challenger = {.policy = entrants[*winner].choice,
                          .share = 1 / races.speed_up(*winner),
                          .error = job_.error_of_claim(name)};
      tuned.raced.insert(tuned.challenger->policy);
    }
  }
}

void Confirmation::open_proofs() {
  confirming_.clear();
  std::vector<Proofs::Group> groups;
  size_t most = 0;
  for (size_t i = 0; i < tuned_.size(); ++i) {
    const auto& challenger = tuned_[i].challenger;
    if (!challenger) continue;
    confirming_.push_back(i);
    groups.push_back({{{tuned_[i].workload, challenger->policy}},
                      {.margin = job_.opened().margin, .error = challenger->error},
                      challenger->evidence});
    most = std::max(most, most_blocks(challenger->error));
  }
  proofs_.emplace(job_.opened(), std::move(groups), PairedBlocks::Timed::workloads, job_.random);
  blocks_ = 0;
  most_blocks_ = last_ ? most : kEarlyBlocks;
}

bool Confirmation::goes_on() const {
  if (blocks_ >= most_blocks_ || proofs_->over()) return false;
  // Before the last round, a proof that cannot be completed in time is left to a later round.
  const double needed_s = last_ ? 0 : block_s_ * static_cast<double>(proofs_->missing_blocks());
  return spent_s_ + needed_s < allowed_s_;
}

std::vector<Accepted> Confirmation::confirm_block() {
  const double began_s = job_.elapsed_s();
  proofs_->add(job_.ask({{}, proofs_->next()}).measured);
  block_s_ = job_.elapsed_s() - began_s;
  spent_s_ += block_s_;
  ++blocks_;
  std::vector<Accepted> proven;
  for (size_t g = 0; g < confirming_.size(); ++g) {
    TunedWorkload& tuned = tuned_[confirming_[g]];
    const Proof& proof = proofs_->proof(g);
    if (!tuned.challenger) continue;
    tuned.challenger->evidence = proofs_->evidence(g);
    if (proof.decision == ProofDecision::undecided) continue;
    const bool is_accepted = proof.decision == ProofDecision::accepted;
    job_.record_decision(
        fmt::format("confirmation of workload {}", tuned.workload),
        fmt::format("{}, {} times as fast, {} to {}", is_accepted ? "accepted" : "rejected",
                    proof.speed_up.median, proof.speed_up.low, proof.speed_up.high));
    if (is_accepted) proven.push_back(accept(tuned, job_.gain_of(*proofs_, g)));
    tuned.challenger.reset();
  }
  on_progress_(JobProgress::Phase::confirming,
               static_cast<double>(blocks_) / static_cast<double>(most_blocks_));
  return proven;
}

double Confirmation::expected_s() const {
  return kLastIsLonger * block_s_ * static_cast<double>(kEarlyBlocks);
}

Accepted Confirmation::accept(TunedWorkload& tuned, Gain gain) {
  gain.before_ns /= job_.uses(tuned.workload);
  gain.after_ns /= job_.uses(tuned.workload);
  tuned.proven = {{tuned.workload, tuned.challenger->policy}, gain};
  return *tuned.proven;
}

}  // namespace aoe
