#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace aoe {

// The expected gain of further samples.
//
// A search closes the gap between the baseline and the best policy of the space, fast at first,
// then ever more slowly. The gap of a workload is estimated from how far its best share has moved
// recently. What is left of the gap, and how much of that further samples close, follows the curve
// of a typical search.

// Share of the gap that a typical search has left after this many samples.
double gap_left(double samples);

// The expected gain of one workload.
class Expectation {
 public:
  // `part` is the workload's share of the model's time.
  explicit Expectation(double part) : part_(part) {}

  double part() const { return part_; }
  // Records that this many more samples were requested.
  void ask(size_t samples) { asked_ += samples; }
  // Records the time of a sample as a share of the baseline's; infinite if it failed.
  void learn(double share);
  // Records that the searcher has no more candidates.
  void close() { closed_ = true; }
  bool is_closed() const { return closed_; }

  // Estimated gap between the baseline and the best policy, as a share of the baseline's time: from
  // the movement of the best share over the last half of the samples, blended with a prior while
  // these are few.
  double gap() const;
  // Expected saving, as a share of the model's time, by the samples from `first` to `last`, counted
  // from those already requested.
  double saving(size_t first, size_t last) const;

 private:
  double best_after(size_t samples) const { return samples == 0 ? 1 : best_[samples - 1]; }

  double part_;
  std::vector<double> best_;  // best share after each sample
  size_t asked_ = 0;
  bool closed_ = false;
};

// Allocation of samples to workloads with the largest total expected saving, at most `most_of_one`
// to one workload.
struct Allotment {
  std::vector<size_t> samples;  // for each workload
  double saving = 0;            // of all samples, as a share of the model's time
};
Allotment allocate_samples(std::span<const Expectation* const> workloads, size_t samples,
                           size_t most_of_one);

}  // namespace aoe
