#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace aoe {

// The value in the middle, the larger of two; 0 of none.
inline double middle(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto at = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace aoe
