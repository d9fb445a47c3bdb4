#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace aoe {

// Times as a shared machine gives them: neighbours slow both sides down for a while, take the
// processor away in bursts, and where memory happens to lie favours one side for as long as a
// process lives. Fixed seeds, so that what a test sees is always the same.
struct Noise {
  double placement = 0.01;     // of the bias that all pairs of a process share, either way
  double jitter = 0.01;        // of one time against the next
  double drift = 0.02;         // of a step of the random walk that both sides share
  double burst_chance = 0.02;  // that a burst of stolen time begins with a turn,
  double burst_end = 0.3;      // and that it ends with one
  double burst = 0.5;          // by how much it slows a turn down, on average
};

class NoisyMachine {
 public:
  NoisyMachine(const Noise& noise, uint32_t seed) : noise_(noise), random_(seed) {}

  // A new process: memory lies elsewhere.
  void start_process() { bias_ = noise_.placement * normal_(random_); }

  // A pair of times, of the baseline and of a candidate that is so much faster.
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

  // What a block of so many pairs in a process of its own says.
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

  // One turn of something that takes so long on a quiet machine.
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
