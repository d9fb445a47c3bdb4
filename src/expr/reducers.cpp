#include "expr/workload.h"

#include <limits>

namespace aoe {
namespace {

Reducer simple(std::string name, Expr identity, Expr (*combine)(const Expr&, const Expr&)) {
  const DType dtype = identity.dtype();
  return {std::move(name), {identity}, {combine(Expr::arg(0, dtype), Expr::arg(1, dtype))}};
}

// Tuples are (value, position). NaN is better than any number, as in NumPy.
Reducer arg_best(std::string name, Expr worst, bool largest, bool last) {
  const DType dtype = worst.dtype();
  const Expr value_a = Expr::arg(0, dtype);
  const Expr position_a = Expr::arg(1, DType::i64);
  const Expr value_b = Expr::arg(2, dtype);
  const Expr position_b = Expr::arg(3, DType::i64);
  Expr better = largest ? lt(value_a, value_b) : lt(value_b, value_a);
  Expr tied = eq(value_a, value_b);
  if (is_float(dtype)) {
    better = better | (is_nan(value_b) & !is_nan(value_a));
    tied = tied | (is_nan(value_a) & is_nan(value_b));
  }
  const Expr sooner = last ? lt(position_a, position_b) : lt(position_b, position_a);
  const Expr take = better | (tied & sooner);
  // The position of the identity loses every tie.
  const int64_t nowhere = last ? -1 : std::numeric_limits<int64_t>::max();
  return {std::move(name),
          {worst, Expr::integer(DType::i64, nowhere)},
          {select(take, value_b, value_a), select(take, position_b, position_a)}};
}

}  // namespace

Reducer sum_of(DType dtype) {
  return simple("sum", Expr::integer(dtype, 0), [](const Expr& a, const Expr& b) { return a + b; });
}

Reducer product_of(DType dtype) {
  return simple("product", Expr::integer(dtype, 1),
                [](const Expr& a, const Expr& b) { return a * b; });
}

Reducer max_of(DType dtype) {
  return simple("max", lowest(dtype), [](const Expr& a, const Expr& b) { return max(a, b); });
}

Reducer min_of(DType dtype) {
  return simple("min", highest(dtype), [](const Expr& a, const Expr& b) { return min(a, b); });
}

Reducer arg_max_of(DType dtype, bool last) {
  return arg_best(last ? "arg_max_last" : "arg_max", lowest(dtype), true, last);
}

Reducer arg_min_of(DType dtype, bool last) {
  return arg_best(last ? "arg_min_last" : "arg_min", highest(dtype), false, last);
}

Reducer moments_of(DType dtype) {
  const auto arg = [&](int64_t i) { return Expr::arg(i, dtype); };
  const Expr count = arg(0) + arg(3);
  const Expr delta = arg(4) - arg(1);
  const Expr share = arg(3) / max(count, 1);  // the count of two identities is 0
  return {"moments",
          {Expr::integer(dtype, 0), Expr::integer(dtype, 0), Expr::integer(dtype, 0)},
          {count, arg(1) + delta * share, arg(2) + arg(5) + delta * delta * arg(0) * share}};
}

}  // namespace aoe
