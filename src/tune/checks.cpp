#include "tune/checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "measure/proof.h"
#include "policy/policy_text.h"

namespace aoe {
namespace {

constexpr size_t kFinalists = 3;
// Before the last round: at first sight what gains less may as well be noise, and better ones may
// be found.
constexpr double kClearShare = 0.97;
// Of all that is promised, what must be looked at before the last round once something is proven;
// the workloads that promise most come first.
constexpr double kMostOfPromises = 0.8;
// A proof if all of them agree but one.
constexpr size_t kEarlyBlocks = 13;
// Later blocks are of more workloads, and come after longer races.
constexpr double kLastIsLonger = 1.5;
// Who leads a race by then is good enough to be confirmed.
constexpr double kEarlyRace = 0.5;
// By how much a policy must win against one that has won before it, to be worth a confirmation of
// its own.
constexpr double kWorthwhile = 1.01;

}  // namespace

double Checks::share_to_beat(const TunedWorkload& tuned) {
  if (tuned.challenger) return tuned.challenger->share;
  return tuned.proven ? tuned.proven->gain.after_ns / tuned.proven->gain.before_ns : 1;
}

Checks::Finalists Checks::finalists(size_t index, bool last) const {
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

std::vector<Checks::Finalists> Checks::racing(bool last) const {
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

void Checks::run(double end_s, bool last) {
  race(end_s, last);
  confirm(end_s, last);
}

void Checks::race(double end_s, bool last) {
  const std::vector<Finalists> racing_now = racing(last);
  std::vector<Proposal> entrants;
  std::vector<size_t> to_beat;  // entrant, of each who races; none: the number of entrants
  for (const Finalists& one : racing_now) {
    const TunedWorkload& tuned = tuned_[one.tuned];
    for (const SeenPolicy& seen : one.policies) {
      entrants.push_back({tuned.workload, seen.policy});
    }
    to_beat.push_back(entrants.size());
    if (tuned.challenger) entrants.push_back({tuned.workload, tuned.challenger->policy});
    else if (tuned.proven) entrants.push_back({tuned.workload, tuned.proven->policy});
  }
  Races races(job_.workloads(), entrants, job_.random);
  const auto decided = [&] { return races.over() || (!last && races.share() >= kEarlyRace); };
  while (!decided() && job_.elapsed_s() < end_s) {
    races.add(job_.ask({{}, races.next()}).measured);
    told_(JobProgress::Phase::racing, races.share());
  }
  for (size_t i = 0; i < racing_now.size(); ++i) {
    TunedWorkload& tuned = tuned_[racing_now[i].tuned];
    if (decided()) {
      for (const SeenPolicy& seen : racing_now[i].policies) tuned.raced.insert(seen.policy);
    }
    const auto winner = races.winner(tuned.workload);
    const bool has_rival = tuned.challenger || tuned.proven;
    const bool wins =
        winner && *winner != to_beat[i] &&
        (!has_rival || races.speed_up(*winner) > kWorthwhile * races.speed_up(to_beat[i]));
    if (wins) {
      tuned.challenger = {entrants[*winner].policy, 1 / races.speed_up(*winner)};
      tuned.evidence = {};
      tuned.raced.insert(tuned.challenger->policy);
      job_.decide(fmt::format("race of workload {}", tuned.workload), tuned.challenger->policy);
    }
  }
}

void Checks::confirm(double end_s, bool last) {
  std::vector<size_t> confirmed;  // indexes
  std::vector<Proposal> challengers;
  std::vector<std::vector<size_t>> groups;
  for (size_t i = 0; i < tuned_.size(); ++i) {
    if (!tuned_[i].challenger) continue;
    groups.push_back({challengers.size()});
    confirmed.push_back(i);
    challengers.push_back({tuned_[i].workload, tuned_[i].challenger->policy});
  }
  const ProofOptions options{.margin = job_.opened().margin};
  Proofs proofs(job_.workloads(), challengers, groups, false, block_pairs(job_.opened()), options,
                job_.random);
  for (size_t g = 0; g < confirmed.size(); ++g) {
    proofs.resume(g, std::move(tuned_[confirmed[g]].evidence));
  }
  const size_t most = last ? options.most_blocks : kEarlyBlocks;
  for (size_t block = 0; block < most && !proofs.over(); ++block) {
    const double began_s = job_.elapsed_s();
    // A proof that would not come to its end is left to a later round.
    const double needed_s =
        last || block >= kFewestBlocks ? 0 : block_s_ * static_cast<double>(kFewestBlocks - block);
    if (began_s + needed_s >= end_s) break;
    proofs.add(job_.ask({{}, proofs.next()}).measured);
    block_s_ = job_.elapsed_s() - began_s;
    for (size_t g = 0; g < confirmed.size(); ++g) {
      TunedWorkload& tuned = tuned_[confirmed[g]];
      const Proof& proof = proofs.proof(g);
      if (!tuned.challenger || proof.decision == ProofDecision::go_on) continue;
      const bool is_accepted = proof.decision == ProofDecision::accepted;
      job_.decide(
          fmt::format("confirmation of workload {}", tuned.workload),
          fmt::format("{}, {} times as fast, {} to {}", is_accepted ? "accepted" : "rejected",
                      proof.speed_up.median, proof.speed_up.low, proof.speed_up.high));
      if (is_accepted) accept(tuned, job_.gain_of(proofs, g));
      tuned.challenger.reset();
    }
    told_(JobProgress::Phase::confirming,
          static_cast<double>(block + 1) / static_cast<double>(most));
  }
  for (size_t g = 0; g < confirmed.size(); ++g) {
    if (tuned_[confirmed[g]].challenger) tuned_[confirmed[g]].evidence = proofs.evidence(g);
  }
}

double Checks::expected_s() const {
  return kLastIsLonger * block_s_ * static_cast<double>(kEarlyBlocks);
}

void Checks::accept(TunedWorkload& tuned, Gain gain) {
  gain.before_ns /= job_.uses(tuned.workload);
  gain.after_ns /= job_.uses(tuned.workload);
  tuned.proven = {tuned.workload, tuned.challenger->policy, gain};
  job_.listener.accepted(*tuned.proven);
}

}  // namespace aoe
