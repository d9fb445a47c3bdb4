#pragma once

#include <algorithm>
#include <span>
#include <type_traits>
#include <vector>

#include "op/context.h"

namespace aoe {

// Shared by host kernels: tensors, including tensors of strings, are sliced and joined along an
// axis. In an empty tensor the other extents may be huge, so no loop runs over the extents before
// the element count is known not to be 0.

// As `dispatch`, with std::string for strings.
template <typename Fn>
decltype(auto) dispatch_any(DType type, Fn&& fn) {
  if (type == DType::string) return fn(Tag<std::string>{});
  return dispatch(type, std::forward<Fn>(fn));
}

// A tensor as a 3-D array [outer, extent, inner]: the axes before an axis, the axis, and those
// after it.
struct AxisView {
  int64_t outer = 1;
  int64_t extent = 1;
  int64_t inner = 1;
};
AxisView view_along(const Shape& shape, int64_t axis);

void copy_elements(const Tensor& from, int64_t from_at, Tensor& to, int64_t to_at, int64_t count);

// Returns the slices at `positions`, all in [0, extent), along `axis`.
Tensor take(const Tensor& x, int64_t axis, std::span<const int64_t> positions);
// Returns `extent` slices, beginning with slice `start`.
Tensor part(const Tensor& x, int64_t axis, int64_t start, int64_t extent);
// Returns the slice at `position`, without the axis.
Tensor element(const Tensor& x, int64_t axis, int64_t position);
// Concatenates tensors along `axis`; fails if they differ in type or in another extent.
Tensor join(std::span<const Tensor> parts, int64_t axis);
// Stacks tensors along a new axis; fails if their types or shapes differ.
Tensor stack(std::span<const Tensor> parts, int64_t axis);

// Returns `index` counted from the front; fails outside [-extent, extent).
int64_t normalize_index(int64_t index, int64_t extent);

// Whether the caller passed the input: a missing one is a Value that is_none().
inline bool given(const HostCall& call, size_t input) {
  return input < call.inputs.size() && !call.inputs[input].is_none();
}

// Returns the single element of a value; fails if there is not exactly one.
int64_t only_int(const Value& value);
double only_number(const Value& value);
bool only_bool(const Value& value);

}  // namespace aoe
