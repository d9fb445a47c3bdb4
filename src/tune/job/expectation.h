#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace aoe {

// What further samples can be expected to gain.
//
// A search closes the gap between the baseline policy and the best there is, fast at first and
// ever more slowly. How wide the gap of a workload is shows in how far its best share has moved
// lately; what is left of it, and how much of that some samples more will close, is what searches
// usually do.

// Of a gap, the part that is usually left after so many samples.
double gap_left(double samples);

// Of one workload.
class Expectation {
 public:
  // `part` of the model's time is the workload's.
  explicit Expectation(double part) : part_(part) {}

  double part() const { return part_; }
  // So many more samples are on their way.
  void ask(size_t samples) { asked_ += samples; }
  // What one of them took, as a share of what the baseline policy takes; infinite if it failed.
  void learn(double share);
  // There are no more samples to be had.
  void close() { closed_ = true; }
  bool is_closed() const { return closed_; }

  // Between the baseline policy and the best there is, as a share of the baseline's time: by how
  // far the best has moved over the last half of the samples, and by what is usual where these are
  // few.
  double gap() const;
  // Of the model's time, what the samples from `first` to `last`, counted from those that are on
  // their way, will save.
  double saving(size_t first, size_t last) const;

 private:
  double best_after(size_t samples) const { return samples == 0 ? 1 : best_[samples - 1]; }

  double part_;
  std::vector<double> best_;  // share, after each sample
  size_t asked_ = 0;
  bool closed_ = false;
};

// Samples for each of several workloads, where each saves most.
struct Allotment {
  std::vector<size_t> samples;
  double saving = 0;  // of the model's time, by all of them
};
Allotment allotted(std::span<const Expectation* const> workloads, size_t samples,
                   size_t most_of_one);

}  // namespace aoe
