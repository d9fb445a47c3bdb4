#pragma once

#include <cstddef>
#include <vector>

namespace aoe {

// How sure an interval here is to hold the true median.
constexpr double kConfidence = 0.99;
// Fewer values have no interval that sure: even the one from the smallest to the largest misses the
// median in 2 of 2^n cases.
constexpr size_t kFewestValues = 8;

// A median of independent values, and between which bounds that of all such values lies. Nothing is
// assumed of how the values are distributed: the bounds are two of them (the sign test's).
struct Interval {
  double median = 0;
  double low = 0;
  double high = 0;
};

// The k for which the k-th smallest and the k-th largest of n values enclose the median.
size_t rank_of_bound(size_t n);

// Of at least kFewestValues values.
Interval median_of(std::vector<double> values);

// The median of a[i] / b[i]. Of their logarithms, so that b to a is one over a to b.
Interval ratio_of(const std::vector<double>& a, const std::vector<double>& b);

// Differences that are smaller count as none: where memory happens to lie makes one model run as
// much faster than the same model loaded again.
constexpr double kMargin = 0.01;

// What a ratio of times, another participant's to ours, says, beside the ratio of one participant
// to itself in the same rounds.
enum class Verdict { faster, slower, not_proven };
Verdict verdict_on(const Interval& other_to_ours, const Interval& self_to_self);

// The factor that a ratio must exceed for a proof: the margin, or the farthest from 1 that the same
// model may be from itself if that is more.
double noise_floor(const Interval& self_to_self);

}  // namespace aoe
