#pragma once

#include <algorithm>
#include <span>
#include <type_traits>
#include <vector>

#include "op/context.h"

namespace aoe {

// What host kernels share: tensors taken apart and put together along an axis, strings included.
// Extents may be enormous where another one is 0: no loop runs over those.

// As `dispatch`, with std::string for strings.
template <typename Fn>
decltype(auto) dispatch_any(DType type, Fn&& fn) {
  if (type == DType::string) return fn(Tag<std::string>{});
  return dispatch(type, std::forward<Fn>(fn));
}

// A tensor as rows of `extent` blocks of `inner` elements: what lies before, along and after an
// axis.
struct AxisView {
  int64_t outer = 1;
  int64_t extent = 1;
  int64_t inner = 1;
};
AxisView view_along(const Shape& shape, int64_t axis);

void copy_elements(const Tensor& from, int64_t from_at, Tensor& to, int64_t to_at, int64_t count);

// The slices at `positions`, all in [0, extent), along `axis`.
Tensor take(const Tensor& x, int64_t axis, std::span<const int64_t> positions);
// `extent` slices from `start` on.
Tensor part(const Tensor& x, int64_t axis, int64_t start, int64_t extent);
// The slice at `position`, without the axis.
Tensor element(const Tensor& x, int64_t axis, int64_t position);
// Tensors that agree but for `axis`, joined along it; fails if they do not.
Tensor join(std::span<const Tensor> parts, int64_t axis);
// Tensors of one type as slices of a new axis; fails if they differ.
Tensor stack(std::span<const Tensor> parts, int64_t axis);

// `index` counted from the front; fails outside [-extent, extent).
int64_t normalize_index(int64_t index, int64_t extent);

// An input that was left out is an empty handle.
inline bool given(const HostCall& call, size_t input) {
  return input < call.inputs.size() && !call.inputs[input].is_none();
}

// The only element of an input.
int64_t only_int(const Value& value);
double only_number(const Value& value);
bool only_bool(const Value& value);

}  // namespace aoe
