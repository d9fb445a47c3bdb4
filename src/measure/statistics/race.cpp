#include "measure/statistics/race.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "measure/statistics/proof.h"

namespace aoe {
namespace {

using Rounds = std::span<const std::vector<double>>;

// Comparison of two participants over the rounds that both ran.
struct Losses {
  size_t rounds = 0;
  size_t lost = 0;         // rounds in which `one` took longer than `other`
  size_t lost_by_far = 0;  // rounds in which it took longer by more than `far_behind`
};

Losses losses(Rounds rounds_ns, size_t one, size_t other, double far_behind) {
  Losses found;
  for (const std::vector<double>& ns : rounds_ns) {
    if (ns[one] <= 0 || ns[other] <= 0) continue;
    ++found.rounds;
    if (ns[one] > ns[other]) ++found.lost;
    if (ns[one] > ns[other] * (1 + far_behind)) ++found.lost_by_far;
  }
  return found;
}

double speed_up_of(Rounds rounds_ns, size_t participant) {
  std::vector<double> baseline;
  std::vector<double> candidate;
  for (const std::vector<double>& ns : rounds_ns) {
    if (ns[participant] <= 0) continue;
    baseline.push_back(ns[0]);
    candidate.push_back(ns[participant]);
  }
  return candidate.empty() ? 0 : block_speed_up(baseline, candidate);
}

}  // namespace

Race race_of(Rounds rounds_ns, const RaceOptions& options) {
  Race race;
  if (rounds_ns.empty()) return race;
  const size_t participants = rounds_ns.front().size();
  for (size_t p = 0; p < participants; ++p) {
    assert(rounds_ns.front()[p] > 0);
    race.speed_up.push_back(speed_up_of(rounds_ns, p));
    if (p == 0 || rounds_ns.back()[p] > 0) race.remaining.push_back(p);
  }
  std::stable_sort(race.remaining.begin(), race.remaining.end(),
                   [&](size_t a, size_t b) { return race.speed_up[a] > race.speed_up[b]; });
  const size_t leader = race.remaining.front();
  // Union bound: the truly best participant may be compared with each of the others.
  const double error = options.error / static_cast<double>(participants);
  std::erase_if(race.remaining, [&](size_t p) {
    if (p == 0 || p == leader) return false;
    const Losses found = losses(rounds_ns, p, leader, options.far_behind);
    return found.lost >= required_agreeing_blocks(found.rounds, error) ||
           (found.rounds >= options.far_rounds && found.lost_by_far == found.rounds);
  });
  race.over = race.remaining.size() <= 2 || rounds_ns.size() >= options.most_rounds;
  return race;
}

}  // namespace aoe
