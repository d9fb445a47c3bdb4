#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace aoe {

// Extents of a tensor's axes, all known and not negative. A scalar has none.
using Shape = std::vector<int64_t>;

// Number of elements; fails if it overflows or an extent is negative.
int64_t element_count(const Shape& shape);

// "[1, 3, 224, 224]"
std::string to_string(const Shape& shape);

// Distance in elements between neighbours along each axis, last axis fastest.
Shape row_major_strides(const Shape& shape);

// The first `count` extents of a shape, and the remaining ones.
inline Shape head(const Shape& shape, size_t count) {
  return {shape.begin(), shape.begin() + static_cast<int64_t>(count)};
}
inline Shape tail(const Shape& shape, size_t count) {
  return {shape.begin() + static_cast<int64_t>(count), shape.end()};
}

// Returns `axis` counted from the front; a negative `axis` counts from the back. Fails outside
// [-rank, rank).
int64_t normalize_axis(int64_t axis, int64_t rank);
std::vector<int64_t> normalize_axes(std::span<const int64_t> axes, int64_t rank);

// The shape that both broadcast to by NumPy's rules; fails with both shapes in the message.
Shape broadcast(const Shape& a, const Shape& b);

// Product and sum that fail on overflow: sizes come from untrusted files.
int64_t checked_mul(int64_t a, int64_t b);
int64_t checked_add(int64_t a, int64_t b);

inline int64_t floor_div(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return quotient - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}
inline int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }

}  // namespace aoe
