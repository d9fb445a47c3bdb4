#include "op/families.h"
#include "op/operands.h"

namespace aoe {
namespace {

using Binary = Expr (*)(const Expr&, const Expr&);

Expr greater(const Expr& a, const Expr& b) { return lt(b, a); }
Expr greater_or_equal(const Expr& a, const Expr& b) { return le(b, a); }

template <Binary F>
void compare(OpContext& op) {
  numeric_in(op, 0);
  const auto [a, b] = binary_in(op);
  op.out(op.map(a, b, F));
}

template <ExprOp Op>
void combine(OpContext& op) {
  bool_in(op, 0);
  const auto [a, b] = binary_in(op);
  op.out(op.map(a, b, [](const Expr& x, const Expr& y) { return binary(Op, x, y); }));
}

void equal_strings(OpContext& op) {
  const Shape shape = broadcast(op.shape(0), op.shape(1));
  op.host({TensorType{DType::boolean, shape}}, [shape](const HostCall& call) {
    const Tensor& a = call.inputs[0].tensor();
    const Tensor& b = call.inputs[1].tensor();
    const auto from_a = broadcast_positions(a.shape(), shape);
    const auto from_b = broadcast_positions(b.shape(), shape);
    Tensor result(DType::boolean, shape);
    for (size_t i = 0; i < from_a.size(); ++i) {
      result.data<bool>()[i] = a.data<std::string>()[from_a[i]] == b.data<std::string>()[from_b[i]];
    }
    return std::vector<Value>{result};
  });
}

void equal(OpContext& op) {
  if (op.dtype(0) == DType::string && op.dtype(1) == DType::string) return equal_strings(op);
  const auto [a, b] = binary_in(op);
  op.out(op.map(a, b, [](const Expr& x, const Expr& y) { return eq(x, y); }));
}

void logical_not(OpContext& op) {
  op.out(op.map(bool_in(op, 0), [](const Expr& x) { return !x; }));
}

void is_nan(OpContext& op) {
  op.out(op.map(float_in(op, 0), [](const Expr& x) { return is_nan(x); }));
}

void is_inf(OpContext& op) {
  const bool negative = op.flag("detect_negative", true);
  const bool positive = op.flag("detect_positive", true);
  op.out(op.map(float_in(op, 0), [&](const Expr& x) {
    if (negative && positive) return is_inf(x);
    if (!negative && !positive) return Expr::integer(DType::boolean, 0);
    return is_inf(x) & (negative ? lt(x, 0) : lt(0, x));
  }));
}

}  // namespace

const OpTable& compare_operators() {
  static const OpTable table{
      {"And", 1, combine<ExprOp::bit_and>},
      {"Equal", 1, equal},
      {"Greater", 1, compare<greater>},
      {"GreaterOrEqual", 12, compare<greater_or_equal>},
      {"IsInf", 10, is_inf},
      {"IsNaN", 9, is_nan},
      {"Less", 1, compare<lt>},
      {"LessOrEqual", 12, compare<le>},
      {"Not", 1, logical_not},
      {"Or", 1, combine<ExprOp::bit_or>},
      {"Xor", 1, combine<ExprOp::bit_xor>},
  };
  return table;
}

}  // namespace aoe
