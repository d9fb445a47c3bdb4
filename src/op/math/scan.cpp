#include "op/families.h"
#include "op/operands.h"

namespace aoe {
namespace {

// Parallel prefix combination along an axis (Hillis and Steele): after step k, each element
// combines the last 2^k elements. O(n log n) operations, but every step is elementwise.
void running(OpContext& op, int64_t identity, Expr (*combine)(const Expr&, const Expr&)) {
  const Operand x = numeric_in(op, 0);
  const auto axis = static_cast<size_t>(normalize_axis(op.integer_in(1), x.rank()));
  const bool exclusive = op.flag("exclusive", false);
  const int64_t direction = op.flag("reverse", false) ? 1 : -1;
  const DType type = is_float(x.dtype) ? wide_type(x.dtype) : x.dtype;
  // Returns the element `distance` positions earlier, or the identity if that is outside the axis.
  const auto before = [&](const Operand& from, const Axes& point, int64_t distance) {
    Axes index = point;
    index[axis] = point[axis] + direction * distance;
    return from.or_outside(std::move(index), Expr::integer(from.dtype, identity));
  };
  Operand y = op.cast_to(x, type);
  if (exclusive) {
    y = op.compute(x.shape, [&](const Axes& point) { return before(y, point, 1); });
  }
  for (int64_t distance = 1; distance < x.shape[axis]; distance *= 2) {
    const Operand so_far = y;
    y = op.compute(x.shape, [&](const Axes& point) {
      return combine(so_far(point), before(so_far, point, distance));
    });
  }
  op.out(op.cast_to(y, x.dtype));
}

void cum_sum(OpContext& op) {
  running(op, 0, [](const Expr& a, const Expr& b) { return a + b; });
}

void cum_prod(OpContext& op) {
  running(op, 1, [](const Expr& a, const Expr& b) { return a * b; });
}

}  // namespace

const OpTable& scan_operators() {
  static const OpTable table{
      {"CumProd", 26, cum_prod},
      {"CumSum", 11, cum_sum},
  };
  return table;
}

}  // namespace aoe
