#include "measure/statistics/rounds.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "base/median.h"
#include "measure/statistics/intervals.h"

namespace aoe {
namespace {

constexpr double kTurnNs = 12e6;
// Minimum number of rounds: the smallest n for which the interval excludes the smallest and the
// largest value (rank_of_bound(12) is 2).
constexpr size_t kFewestRounds = 12;
// Rounds longer than this are repeated only kFewestValues times, the minimum for an interval.
constexpr double kLongRoundNs = 5e9;
// A call longer than this needs no warm-up call: it reaches its steady state early on.
constexpr double kLongCallNs = 1e9;
// Calls are timed in batches of at least this, so that the time to read the clock does not matter.
constexpr double kBatchNs = 20e3;

// One participant: times its calls in batches and collects the statistics of its turns.
class Participant {
 public:
  Participant(const std::function<void()>& call, const Clock& clock) : call_(call), clock_(clock) {
    // Twice, because the first call may initialize state.
    call_ns_ = batch_ns();
    call_ns_ = std::min(call_ns_, batch_ns());
    while (call_ns_ * batch_ < kBatchNs && batch_ < 1 << 16) {
      batch_ *= 2;
      call_ns_ = batch_ns() / batch_;
    }
  }

  void take_turn() {
    if (call_ns_ < kLongCallNs) call_();
    std::vector<double> times;
    double spent = 0;
    while (times.empty() || spent < kTurnNs) {
      const double ns = batch_ns();
      spent += ns;
      times.push_back(ns / batch_);
    }
    turns_.medians_ns.push_back(median(times));
    const double least = *std::min_element(times.begin(), times.end());
    turns_.minimum_ns = turns_.calls == 0 ? least : std::min(turns_.minimum_ns, least);
    turns_.calls += static_cast<int64_t>(times.size()) * batch_;
  }

  const ParticipantTimes& turns() const { return turns_; }

 private:
  double batch_ns() const {
    const double start = clock_();
    for (int i = 0; i < batch_; ++i) call_();
    return clock_() - start;
  }

  const std::function<void()>& call_;
  const Clock& clock_;
  int batch_ = 1;
  double call_ns_ = 0;
  ParticipantTimes turns_;
};

}  // namespace

std::vector<ParticipantTimes> measure_rounds(const std::vector<std::function<void()>>& participants,
                                             const RoundsOptions& options) {
  const Clock& clock = options.clock;
  std::vector<Participant> all;
  for (const auto& call : participants) all.emplace_back(call, clock);
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(options.seed);
  const double wanted_ns = options.seconds * 1e9;
  const double start = clock();
  double spent = 0;
  size_t fewest = kFewestRounds;
  for (size_t rounds = 0; rounds < fewest || spent < wanted_ns;) {
    std::shuffle(order.begin(), order.end(), random);
    for (const size_t which : order) all[which].take_turn();
    ++rounds;
    spent = clock() - start;
    if (spent / static_cast<double>(rounds) > kLongRoundNs) fewest = kFewestValues;
    const double by_count = static_cast<double>(rounds) / static_cast<double>(fewest);
    if (options.progress) options.progress(std::min({1.0, by_count, spent / wanted_ns}));
  }
  std::vector<ParticipantTimes> turns;
  for (const Participant& participant : all) turns.push_back(participant.turns());
  return turns;
}

}  // namespace aoe
