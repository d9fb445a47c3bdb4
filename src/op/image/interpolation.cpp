#include "op/image/interpolation.h"

namespace aoe {

Interpolation linear_interpolation() {
  return {2, 0, [](const Expr& distance) { return max(1 - abs(distance), 0); }};
}

Interpolation cubic_interpolation(double a) {
  return {4, 1, [a](const Expr& distance) {
            const Expr x = abs(distance);
            const Expr near = ((a + 2) * x - (a + 3)) * x * x + 1;
            const Expr far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
            return select(le(x, 1), near, select(lt(x, 2), far, number_like(x, 0)));
          }};
}

Tap tap_at(const Interpolation& how, std::span<const Expr> point, std::span<const Expr> taps) {
  Tap tap;
  for (size_t i = 0; i < point.size(); ++i) {
    const Expr below = floor(point[i]);
    const Expr step = taps[i] - how.lead;
    tap.index.push_back(cast(DType::i64, below) + step);
    const Expr weight = how.weight(point[i] - below - cast(point[i].dtype(), step));
    tap.weight = tap.weight ? tap.weight * weight : weight;
  }
  return tap;
}

}  // namespace aoe
