#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace aoe {

// The Ranker is the cost model of the search: boosted trees over features of a policy
// (search/kernel_features.h) that predict its time relative to its workload's baseline. Relative
// times make samples of different workloads comparable. Predictions depend only on the sequence of
// samples, so that replaying a journal rebuilds the same ranker. Not thread-safe.
class Ranker {
 public:
  Ranker();
  ~Ranker();

  // Adds a sample: a policy of any workload, and its time divided by the baseline's; infinity if it
  // failed.
  void add(std::vector<float> features, double share);

  // For each row of features: the expected log2 of its share, lower is faster. All zero while there
  // are too few samples.
  std::vector<double> expected(const std::vector<std::vector<float>>& rows);

 private:
  struct Sample {
    std::vector<float> features;
    float target;
  };
  class Trees;

  std::vector<Sample> samples_;
  size_t learnt_ = 0;  // number of samples that the trees were trained on
  std::unique_ptr<const Trees> trees_;
};

}  // namespace aoe
