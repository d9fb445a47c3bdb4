#pragma once

#include <cstddef>
#include <vector>

namespace aoe {

// Probability that an interval contains the true median.
constexpr double kConfidence = 0.99;
// Minimum number of values for an interval with that confidence: even the range from the smallest
// to the largest of n values misses the median with probability 2 / 2^n.
constexpr size_t kFewestValues = 8;

// The median of a sample of independent values, with a confidence interval for the median of the
// population. The bounds are two of the values (sign test), so no distribution is assumed.
struct Interval {
  double median = 0;
  double low = 0;
  double high = 0;
};

// Returns the largest k for which the k-th smallest and the k-th largest of n values enclose the
// median with kConfidence.
size_t rank_of_bound(size_t n);

// Requires at least kFewestValues values.
Interval median_of(std::vector<double> values);

// The median of a[i] / b[i], computed on logarithms so that ratio_of(b, a) is the reciprocal.
Interval ratio_of(const std::vector<double>& a, const std::vector<double>& b);

// Smallest relative difference that counts. The placement of memory makes the same model, loaded
// twice, differ by up to this much.
constexpr double kMargin = 0.01;

// Compares the ratio of another participant's time to ours with the noise floor, which the A/A
// ratio from the same rounds gives.
enum class Verdict { faster, slower, not_proven };
Verdict verdict_on(const Interval& other_to_ours, const Interval& self_to_self);

// The factor that a ratio must exceed to count as proven: 1 + kMargin, or the bound of the A/A
// interval farther from 1, if that is larger.
double noise_floor(const Interval& self_to_self);

}  // namespace aoe
