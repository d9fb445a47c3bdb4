#include <limits>

#include "op/context.h"
#include "op/families.h"

namespace aoe {
namespace {

// What a reduction keeps of the axes it goes over: for output point and reduced position, the index
// into the input.
struct ReducedAxes {
  Shape kept;    // extents of the output, reduced axes as 1 where they are kept
  Shape over;    // extents of the reduced axes
  std::vector<int64_t> axes;
  int64_t rank;

  Axes index(const Axes& out, const Axes& in, bool keep_dims) const {
    Axes index(static_cast<size_t>(rank));
    size_t next_in = 0;
    size_t next_out = 0;
    for (int64_t axis = 0; axis < rank; ++axis) {
      const bool reduced = std::find(axes.begin(), axes.end(), axis) != axes.end();
      index[static_cast<size_t>(axis)] = reduced ? in[next_in++] : out[next_out];
      if (!reduced || keep_dims) ++next_out;
    }
    return index;
  }
};

ReducedAxes reduced_axes(const Shape& shape, std::vector<int64_t> axes, bool keep_dims) {
  ReducedAxes result;
  result.rank = static_cast<int64_t>(shape.size());
  result.axes = normalize_axes(axes, result.rank);
  std::sort(result.axes.begin(), result.axes.end());
  for (int64_t axis = 0; axis < result.rank; ++axis) {
    const int64_t extent = shape[static_cast<size_t>(axis)];
    if (std::find(result.axes.begin(), result.axes.end(), axis) == result.axes.end()) {
      result.kept.push_back(extent);
    } else {
      result.over.push_back(extent);
      if (keep_dims) result.kept.push_back(1);
    }
  }
  return result;
}

// Axes are an attribute up to some opset, an input after; none means all, unless
// noop_with_empty_axes says that nothing is reduced.
std::optional<std::vector<int64_t>> axes_of(OpContext& op) {
  std::vector<int64_t> axes = op.integers("axes", {});
  if (op.has(1)) axes = op.ints(1);
  if (!axes.empty()) return axes;
  if (op.flag("noop_with_empty_axes", false)) return std::nullopt;
  for (int64_t i = 0; i < op.rank(0); ++i) axes.push_back(i);
  return axes;
}

using Map = Expr (*)(const Expr&);
using Finish = Expr (*)(const Expr& reduced, int64_t count);

// Reduction of `before(x)`, then `after(reduced, number of elements)`.
void reduce(OpContext& op, Reducer (*reducer)(DType), Map before, Finish after) {
  const Operand x = op.in(0);
  const auto axes = axes_of(op);
  if (!axes) return op.out(op.map(x, [&](const Expr& e) { return after(before(e), 1); }));
  const bool keep = op.flag("keepdims", true);
  const ReducedAxes layout = reduced_axes(x.shape, *axes, keep);
  const int64_t count = element_count(layout.over);
  op.out(op.reduce_all(
      reducer(x.dtype), layout.kept, layout.over,
      [&](const Axes& out, const Axes& in) {
        return std::vector{before(x(layout.index(out, in, keep)))};
      },
      [&](const Axes&, const std::vector<Expr>& r) { return std::vector{after(r[0], count)}; })[0]);
}

Expr same(const Expr& e) { return e; }
Expr squared(const Expr& e) { return e * e; }
Expr reduced_only(const Expr& e, int64_t) { return e; }
Expr mean_of(const Expr& e, int64_t count) { return e / count; }

void reduce_sum(OpContext& op) { reduce(op, sum_of, same, reduced_only); }
void reduce_mean(OpContext& op) { reduce(op, sum_of, same, mean_of); }
void reduce_max(OpContext& op) { reduce(op, max_of, same, reduced_only); }
void reduce_min(OpContext& op) { reduce(op, min_of, same, reduced_only); }
void reduce_prod(OpContext& op) { reduce(op, product_of, same, reduced_only); }
void reduce_sum_square(OpContext& op) { reduce(op, sum_of, squared, reduced_only); }

}  // namespace

const OpTable& reduction_operators() {
  static const OpTable table{
      {"ReduceMax", 1, reduce_max},
      {"ReduceMean", 1, reduce_mean},
      {"ReduceMin", 1, reduce_min},
      {"ReduceProd", 1, reduce_prod},
      {"ReduceSum", 1, reduce_sum},
      {"ReduceSumSquare", 1, reduce_sum_square},
  };
  return table;
}

}  // namespace aoe
