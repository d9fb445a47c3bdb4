#include "measure/statistics/intervals.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "base/median.h"

namespace aoe {

size_t rank_of_bound(size_t n) {
  assert(n >= kFewestValues);
  // `tail` is the binomial probability that at most k of n values lie below the median. It is
  // summed from logarithms, because 2^-n underflows beyond a thousand values.
  const auto count = static_cast<double>(n);
  double tail = 0;
  for (size_t k = 0;; ++k) {
    const auto below = static_cast<double>(k);
    tail += std::exp(std::lgamma(count + 1) - std::lgamma(below + 1) -
                     std::lgamma(count - below + 1) - count * std::log(2.0));
    if (2 * tail > 1 - kConfidence) return k;
  }
}

Interval median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t rank = rank_of_bound(values.size());
  return {median(values), values[rank - 1], values[values.size() - rank]};
}

Interval ratio_of(const std::vector<double>& a, const std::vector<double>& b) {
  assert(a.size() == b.size());
  std::vector<double> logs;
  for (size_t i = 0; i < a.size(); ++i) logs.push_back(std::log(a[i] / b[i]));
  const Interval interval = median_of(std::move(logs));
  return {std::exp(interval.median), std::exp(interval.low), std::exp(interval.high)};
}

double noise_floor(const Interval& self_to_self) {
  return std::max({1 + kMargin, self_to_self.high, 1 / self_to_self.low});
}

Verdict verdict_on(const Interval& other_to_ours, const Interval& self_to_self) {
  const double floor = noise_floor(self_to_self);
  if (other_to_ours.high < 1 / floor) return Verdict::faster;
  if (other_to_ours.low > floor) return Verdict::slower;
  return Verdict::not_proven;
}

}  // namespace aoe
