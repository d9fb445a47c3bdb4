#include <utility>

#include "op/families.h"
#include "op/operands.h"

namespace aoe {
namespace {

using Unary = Expr (*)(const Expr&);
using Binary = Expr (*)(const Expr&, const Expr&);

template <ExprOp Op>
Expr apply(const Expr& x) {
  return unary(Op, x);
}
template <ExprOp Op>
Expr apply(const Expr& a, const Expr& b) {
  return binary(Op, a, b);
}

// y = f(x), for any numeric type, for floats, for integers.
template <Unary F>
void of_numbers(OpContext& op) {
  op.out(op.map(numeric_in(op, 0), F));
}
template <Unary F>
void of_floats(OpContext& op) {
  op.out(op.map(float_in(op, 0), F));
}
template <Unary F>
void of_ints(OpContext& op) {
  op.out(op.map(int_in(op, 0), F));
}

template <Binary F>
void of_two_numbers(OpContext& op) {
  numeric_in(op, 0);
  const auto [a, b] = binary_in(op);
  op.out(op.map(a, b, F));
}
template <Binary F>
void of_two_ints(OpContext& op) {
  int_in(op, 0);
  op.out(op.map(op.in(0), op.in(1), F));
}

// Left fold of any number of inputs; IsMean divides it by their number.
template <Binary F, bool IsMean = false>
void of_many(OpContext& op) {
  std::vector<Operand> inputs;
  for (int i = 0; i < op.input_count(); ++i) inputs.push_back(numeric_in(op, i));
  require(!inputs.empty(), "there is no input");
  op.out(op.map(inputs, [](const std::vector<Expr>& elements) {
    Expr result = elements[0];
    for (size_t i = 1; i < elements.size(); ++i) result = F(result, elements[i]);
    return IsMean ? result / elements.size() : result;
  }));
}

Expr magnitude(const Expr& x) { return is_unsigned_int(x.dtype()) ? x : abs(x); }

// Integer results are truncated towards zero, like a cast.
Expr error_function(const Expr& x) {
  return is_float(x.dtype()) ? erf(x) : cast(x.dtype(), erf(cast(DType::f64, x)));
}

Expr reciprocal(const Expr& x) { return 1 / x; }

// sign(x) = x for zeros and NaNs.
Expr sign(const Expr& x) {
  const Expr not_positive =
      is_unsigned_int(x.dtype()) ? x : select(lt(x, 0), number_like(x, -1), x);
  return select(lt(0, x), number_like(x, 1), not_positive);
}

// The result has the type of the base. Mixed types are computed in i64 (both integers) or f64.
void pow(OpContext& op) {
  numeric_in(op, 0);
  numeric_in(op, 1);
  const auto [base, exponent] = binary_in(op);
  const DType type = base.dtype;
  const bool ints = is_int(type) && is_int(exponent.dtype);
  const DType common = exponent.dtype == type ? type : ints ? DType::i64 : DType::f64;
  op.out(op.map(base, exponent, [&](const Expr& x, const Expr& y) {
    return cast(type, pow(cast(common, x), cast(common, y)));
  }));
}

void mod(OpContext& op) {
  numeric_in(op, 0);
  const auto which = op.flag("fmod", false) ? ExprOp::rem : ExprOp::mod;
  op.out(op.map(op.in(0), op.in(1),
                [&](const Expr& a, const Expr& b) { return binary(which, a, b); }));
}

// Shift amounts outside [0, bits) give 0, or -1 for a right shift of a negative number.
void bit_shift(OpContext& op) {
  const Operand x = int_in(op, 0);
  const std::string direction = op.text("direction");
  require(direction == "LEFT" || direction == "RIGHT",
          "attribute 'direction' is '{}', not LEFT or RIGHT", direction);
  const bool right = direction == "RIGHT";
  const int bits = info(x.dtype).bytes * 8;
  op.out(op.map(x, op.in(1), [&](const Expr& value, const Expr& amount) {
    const Expr fits = le(0, amount) & lt(amount, bits);
    const Expr safe = select(fits, amount, number_like(amount, 0));
    const Expr zero = number_like(value, 0);
    const Expr sign_only = right && is_signed_int(x.dtype)
                               ? select(lt(value, zero), number_like(value, -1), zero)
                               : zero;
    return select(fits, binary(right ? ExprOp::shr : ExprOp::shl, value, safe), sign_only);
  }));
}

void where(OpContext& op) {
  bool_in(op, 0);
  op.out(op.map({op.in(0), op.movable(1), op.movable(2)},
                [](const std::vector<Expr>& e) { return select(e[0], e[1], e[2]); }));
}

}  // namespace

const OpTable& elementwise_operators() {
  static const OpTable table{
      {"Abs", 1, of_numbers<magnitude>},
      {"Acos", 7, of_floats<apply<ExprOp::acos>>},
      {"Acosh", 9, of_floats<apply<ExprOp::acosh>>},
      {"Add", 1, of_two_numbers<apply<ExprOp::add>>},
      {"Asin", 7, of_floats<apply<ExprOp::asin>>},
      {"Asinh", 9, of_floats<apply<ExprOp::asinh>>},
      {"Atan", 7, of_floats<apply<ExprOp::atan>>},
      {"Atanh", 9, of_floats<apply<ExprOp::atanh>>},
      {"BitShift", 11, bit_shift},
      {"BitwiseAnd", 18, of_two_ints<apply<ExprOp::bit_and>>},
      {"BitwiseNot", 18, of_ints<apply<ExprOp::bit_not>>},
      {"BitwiseOr", 18, of_two_ints<apply<ExprOp::bit_or>>},
      {"BitwiseXor", 18, of_two_ints<apply<ExprOp::bit_xor>>},
      {"Ceil", 1, of_floats<ceil>},
      {"Cos", 7, of_floats<cos>},
      {"Cosh", 9, of_floats<apply<ExprOp::cosh>>},
      {"Div", 1, of_two_numbers<apply<ExprOp::div>>},
      {"Erf", 9, of_numbers<error_function>},
      {"Exp", 1, of_floats<exp>},
      {"Floor", 1, of_floats<floor>},
      {"Log", 1, of_floats<log>},
      {"Max", 1, of_many<apply<ExprOp::max>>},
      {"Mean", 1, of_many<apply<ExprOp::add>, true>},
      {"Min", 1, of_many<apply<ExprOp::min>>},
      {"Mod", 10, mod},
      {"Mul", 1, of_two_numbers<apply<ExprOp::mul>>},
      {"Neg", 1, of_numbers<apply<ExprOp::neg>>},
      {"Pow", 1, pow},
      {"Reciprocal", 1, of_floats<reciprocal>},
      {"Round", 11, of_floats<round>},
      {"Sign", 9, of_numbers<sign>},
      {"Sin", 7, of_floats<sin>},
      {"Sinh", 9, of_floats<apply<ExprOp::sinh>>},
      {"Sqrt", 1, of_floats<sqrt>},
      {"Sub", 1, of_two_numbers<apply<ExprOp::sub>>},
      {"Sum", 1, of_many<apply<ExprOp::add>>},
      {"Tan", 7, of_floats<apply<ExprOp::tan>>},
      {"Tanh", 1, of_floats<tanh>},
      {"Where", 9, where},
  };
  return table;
}

}  // namespace aoe
