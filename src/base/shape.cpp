#include "base/shape.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"

namespace aoe {

int64_t checked_mul(int64_t a, int64_t b) {
  int64_t product = 0;
  require(!__builtin_mul_overflow(a, b, &product), "size {} x {} overflows", a, b);
  return product;
}

int64_t checked_add(int64_t a, int64_t b) {
  int64_t sum = 0;
  require(!__builtin_add_overflow(a, b, &sum), "size {} + {} overflows", a, b);
  return sum;
}

int64_t element_count(const Shape& shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) {
    // Not `require`, which would evaluate to_string(shape) each time: this is called in loops.
    if (extent < 0) fail("shape {} has a negative extent", to_string(shape));
    if (__builtin_mul_overflow(count, extent, &count)) {
      fail("shape {} is too large: its elements cannot be counted", to_string(shape));
    }
  }
  return count;
}

std::string to_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

Shape row_major_strides(const Shape& shape) {
  Shape strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride = checked_mul(stride, std::max<int64_t>(shape[i], 1));
  }
  return strides;
}

int64_t normalize_axis(int64_t axis, int64_t rank) {
  require(axis >= -rank && axis < rank, "axis {} is outside a tensor of rank {}", axis, rank);
  return axis < 0 ? axis + rank : axis;
}

std::vector<int64_t> normalize_axes(std::span<const int64_t> axes, int64_t rank) {
  std::vector<int64_t> result;
  for (const int64_t axis : axes) {
    const int64_t normalized = normalize_axis(axis, rank);
    require(std::find(result.begin(), result.end(), normalized) == result.end(),
            "axis {} is named twice", axis);
    result.push_back(normalized);
  }
  return result;
}

Shape broadcast(const Shape& a, const Shape& b) {
  Shape result(std::max(a.size(), b.size()));
  for (size_t i = 0; i < result.size(); ++i) {
    // Counted from the back: missing leading axes have extent 1.
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    require(x == y || x == 1 || y == 1, "shapes {} and {} do not broadcast", to_string(a),
            to_string(b));
    result[result.size() - 1 - i] = x == 1 ? y : x;
  }
  return result;
}

}  // namespace aoe
