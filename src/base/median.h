#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace aoe {

// The median: for an even number of values the mean of the middle two; 0 if there are none.
inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto half = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), half, values.end());
  if (values.size() % 2 == 1) return *half;
  return (*std::max_element(values.begin(), half) + *half) / 2;
}

}  // namespace aoe
