#include "measure/worker/difference.h"

#include <algorithm>
#include <cmath>

namespace aoe {

Difference difference_of(const std::vector<Tensor>& results, const std::vector<Tensor>& expected) {
  Difference found;
  for (size_t i = 0; i < results.size(); ++i) {
    const std::vector<double> a = results[i].to_doubles();
    const std::vector<double> b = expected[i].to_doubles();
    for (size_t k = 0; k < a.size(); ++k) {
      if (!std::isfinite(a[k]) || !std::isfinite(b[k])) ++found.not_finite;
      if (std::isfinite(b[k])) found.of = std::max(found.of, std::abs(b[k]));
      if (a[k] == b[k] || (std::isnan(a[k]) && std::isnan(b[k]))) continue;
      const double difference = std::abs(a[k] - b[k]);
      found.largest = std::max(found.largest, std::isnan(difference) ? INFINITY : difference);
    }
  }
  return found;
}

}  // namespace aoe
