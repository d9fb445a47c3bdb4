#include "tune/job/expectation.h"

#include <algorithm>
#include <cmath>

namespace aoe {
namespace {

// Scale of the curve, in samples. The curve lies between those of genetic and tree search in the
// gym (docs/tuning.md), which close half of the gap after 8 and 17 samples. Later it is a little
// slower, because the spaces of models are larger than the recorded ones.
constexpr double kSlowness = 20;
// Prior for the gap: the median of the gaps in the gym.
constexpr double kUsualGap = 0.1;
// Weight of the prior. The weight of the observed movement is the share of the gap that a typical
// search closes within the observed samples.
constexpr double kWeightOfUsual = 0.1;

}  // namespace

double gap_left(double samples) { return std::pow(1 + samples / kSlowness, -2); }

void Expectation::learn(double share) {
  best_.push_back(std::min(best_after(best_.size()), share));
}

double Expectation::gap() const {
  const size_t all = best_.size();
  const size_t half = all / 2;
  const double moved = best_after(half) - best_after(all);
  const double usually_moved =
      gap_left(static_cast<double>(half)) - gap_left(static_cast<double>(all));
  return (kWeightOfUsual * kUsualGap + moved) / (kWeightOfUsual + usually_moved);
}

double Expectation::saving(size_t first, size_t last) const {
  if (closed_) return 0;
  const auto left = [&](size_t more) { return gap_left(static_cast<double>(asked_ + more)); };
  return part_ * gap() * (left(first) - left(last));
}

Allotment allocate_samples(std::span<const Expectation* const> workloads, size_t samples,
                           size_t most_of_one) {
  // Thousands of samples are allotted in strides, because consecutive savings differ little then.
  constexpr size_t kSteps = 256;
  const size_t stride = std::max<size_t>(1, samples / kSteps);
  Allotment allotment{std::vector<size_t>(workloads.size()), 0};
  // Greedy allocation is optimal: each sample of a workload is expected to save less than the one
  // before.
  std::vector<double> next;
  const auto saving_of_next = [&](size_t i) {
    const size_t has = allotment.samples[i];
    return has + stride > most_of_one ? 0 : workloads[i]->saving(has, has + stride);
  };
  for (size_t i = 0; i < workloads.size(); ++i) next.push_back(saving_of_next(i));
  for (size_t given = 0; given < samples; given += stride) {
    const auto most = std::max_element(next.begin(), next.end());
    if (most == next.end() || *most <= 0) break;
    const auto i = static_cast<size_t>(most - next.begin());
    allotment.samples[i] += stride;
    allotment.saving += *most;
    *most = saving_of_next(i);
  }
  return allotment;
}

}  // namespace aoe
