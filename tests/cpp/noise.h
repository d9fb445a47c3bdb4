#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace aoe {

// Simulated times of a shared machine: neighbours slow both sides down for a while and steal the
// processor in bursts, and memory placement favours one side for the lifetime of a process. Seeds
// are fixed, so that tests are deterministic.
struct Noise {
  double placement = 0.01;     // deviation of the bias shared by all pairs of a process
  double jitter = 0.01;        // deviation of a single time
  double drift = 0.02;         // deviation of a step of the random walk that both sides share
  double burst_chance = 0.02;  // probability that a burst of stolen time begins in a turn
  double burst_end = 0.3;      // probability that it ends in a turn
  double burst = 0.5;          // mean slow-down of a turn in a burst
};

class NoisyMachine {
 public:
  NoisyMachine(const Noise& noise, uint32_t seed) : noise_(noise), random_(seed) {}

  // Starts a new process: memory is placed anew.
  void start_process() { bias_ = noise_.placement * normal_(random_); }

  // Times of the baseline and of a candidate that is faster by `speed_up`.
  struct Pair {
    double baseline_ns;
    double candidate_ns;
  };
  Pair pair(double speed_up) {
    Pair pair{};
    const bool swapped = random_() % 2 == 0;
    for (const bool second : {false, true}) {
      if (second != swapped) pair.candidate_ns = turn(1e5 / speed_up, -bias_ / 2);
      else pair.baseline_ns = turn(1e5, bias_ / 2);
    }
    return pair;
  }

  // A block of `pairs` pairs in a fresh process.
  struct Block {
    std::vector<double> baseline_ns;
    std::vector<double> candidate_ns;
  };
  Block block(size_t pairs, double speed_up) {
    start_process();
    Block block;
    for (size_t i = 0; i < pairs; ++i) {
      const Pair one = pair(speed_up);
      block.baseline_ns.push_back(one.baseline_ns);
      block.candidate_ns.push_back(one.candidate_ns);
    }
    return block;
  }

  // Returns the time of a turn that takes `ns` on a quiet machine.
  double turn(double ns, double bias = 0) {
    drift_ = 0.98 * drift_ + noise_.drift * normal_(random_);
    if (in_burst_) in_burst_ = uniform_(random_) >= noise_.burst_end;
    else in_burst_ = uniform_(random_) < noise_.burst_chance;
    const double stolen = in_burst_ ? noise_.burst * -std::log(1 - uniform_(random_)) : 0;
    return ns * std::exp(drift_ + bias + noise_.jitter * normal_(random_)) * (1 + stolen);
  }

 private:
  Noise noise_;
  std::mt19937 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
  double bias_ = 0;
  double drift_ = 0;
  bool in_burst_ = false;
};

}  // namespace aoe
