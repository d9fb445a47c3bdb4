#include "codegen/distances.h"

#include "expr/rewrite.h"

namespace aoe {

bool reads_far(const Loop& loop, PointEmitter& points) {
  constexpr int64_t kFar = int64_t{4} << 20;
  const auto vector = static_cast<size_t>(loop.policy.vector_axis);
  bool far = false;
  for (const Expr& result : loop.results) {
    for_each_node(result, [&](const Expr& e) {
      const auto stride =
          e->op == ExprOp::load ? points.stride_along(e, vector, loop.extents) : std::nullopt;
      far = far || (stride && *stride * loop.extents[vector] * info(e.dtype()).bytes > kFar);
    });
  }
  return far;
}

bool is_near_matrix(const Expr& load, const Loop& loop, size_t outer, PointEmitter& points,
                    const Device& device) {
  const auto vector = static_cast<size_t>(loop.policy.vector_axis);
  int64_t row = loop.extents[static_cast<size_t>(loop.policy.block_axis)];
  // Blocks of its rows may be outer points.
  if (outer > 0 && points.stride_along(load, outer - 1, loop.extents) == row) {
    row *= loop.extents[outer - 1];
  }
  return points.stride_along(load, vector, loop.extents) == row &&
         row * loop.extents[vector] * info(load.dtype()).bytes <= device.caches[1].bytes / 4;
}

bool sums_far_apart(const Loop& loop, PointEmitter& points, const Device& device) {
  constexpr int64_t kPage = 4096;
  const Expr& element = loop.elements[0];
  if (element->op != ExprOp::load || loop.policy.vector_axis < 0) return false;
  const auto vector = static_cast<size_t>(loop.policy.vector_axis);
  const int64_t bytes = info(element.dtype()).bytes;
  const auto step = points.stride_along(element, loop.extents.size() - 1, loop.extents);
  return !loop.is_reduced(vector) && points.stride_along(element, vector, loop.extents) == 1 &&
         step && *step * bytes >= kPage &&
         element_count(loop.extents) * bytes > device.caches[1].bytes;
}

}  // namespace aoe
