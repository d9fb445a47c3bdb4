#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace aoe {

// Learns from measured policies how fast others will be: boosted trees over features
// (search/kernel_features.h). Shares are of each workload's default, so what is learnt of one
// workload holds for others. What it has learnt follows from what it was told, in that order, and
// from nothing else, so a job that is replayed from its journal has the same ranker again. One
// thread.
class Ranker {
 public:
  Ranker();
  ~Ranker();

  // A policy of any workload, and its share of the default's time; infinite if it failed.
  void add(std::vector<float> features, double share);

  // Of each row, the expected logarithm to the base of two of its share: the lower the faster. All
  // zero as long as too little is known.
  std::vector<double> expected(const std::vector<std::vector<float>>& rows);

 private:
  struct Sample {
    std::vector<float> features;
    float target;
  };
  class Trees;

  std::vector<Sample> samples_;
  size_t learnt_ = 0;  // of the samples, when the trees were made
  std::unique_ptr<const Trees> trees_;
};

}  // namespace aoe
