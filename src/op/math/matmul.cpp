#include "op/math/matmul.h"

#include <cmath>

#include "op/context.h"
#include "op/families.h"
#include "op/math/quantization.h"

namespace aoe {

Operand contraction(Builder& b, DType dtype, const Shape& shape, const Shape& over,
                    const Element& element, const Finish& finish) {
  return b.reduce_all(
      sum_of(product_type(dtype)), shape, over,
      [&](const Axes& out, const Axes& in) { return std::vector{element(out, in)}; },
      [&](const Axes& out, const std::vector<Expr>& sum) {
        return std::vector{cast(dtype, finish ? finish(out, sum[0]) : sum[0])};
      })[0];
}

Operand matmul(Builder& b, const Operand& left, const Operand& right) {
  require(left.rank() >= 1 && right.rank() >= 1, "a product of {} and {}: scalars have no axes",
          to_string(left.shape), to_string(right.shape));
  const bool row = left.rank() == 1;
  const bool column = right.rank() == 1;
  const size_t left_batch = row ? 0 : left.shape.size() - 2;
  const size_t right_batch = column ? 0 : right.shape.size() - 2;
  const int64_t depth = left.shape.back();
  require(depth == right.shape[right_batch], "a product of {} and {}: {} columns meet {} rows",
          to_string(left.shape), to_string(right.shape), depth, right.shape[right_batch]);

  const Shape batch = broadcast(Shape(left.shape.begin(), left.shape.begin() + left_batch),
                                Shape(right.shape.begin(), right.shape.begin() + right_batch));
  Shape shape = batch;
  if (!row) shape.push_back(left.shape[left_batch]);
  if (!column) shape.push_back(right.shape.back());

  const auto batch_index = [&](const Operand& side, size_t rank, const Axes& out) {
    Axes index;
    for (size_t i = 0; i < rank; ++i) {
      index.push_back(side.shape[i] == 1 ? Expr::integer(DType::i64, 0)
                                         : out[batch.size() - rank + i]);
    }
    return index;
  };
  return contraction(b, left.dtype, shape, {depth}, [&](const Axes& out, const Axes& in) {
    Axes at_left = batch_index(left, left_batch, out);
    if (!row) at_left.push_back(out[batch.size()]);
    at_left.push_back(in[0]);
    Axes at_right = batch_index(right, right_batch, out);
    at_right.push_back(in[0]);
    if (!column) at_right.push_back(out.back());
    return product(left(at_left), right(at_right));
  });
}

Operand centered(Builder& b, const Operand& x) {
  return b.cast_to(x, is_float(x.dtype) ? DType::f32 : DType::i32);
}

Operand centered(Builder& b, const Operand& x, const Operand& zero_point) {
  require(broadcast(x.shape, zero_point.shape) == x.shape,
          "a zero point of shape {} does not broadcast to {}", to_string(zero_point.shape),
          to_string(x.shape));
  const DType type = is_float(x.dtype) ? DType::f32 : DType::i32;
  return b.map(x, zero_point,
               [&](const Expr& e, const Expr& zero) { return cast(type, e) - cast(type, zero); });
}

namespace {

void matmul_of(OpContext& op) { op.out(matmul(op, op.in(0), op.in(1))); }

// Multiplies an expression of any type by `factor`; an integer result is truncated.
Expr scaled(const Expr& e, double factor) {
  if (factor == 1) return e;
  if (is_float(e.dtype())) return e * factor;
  return cast(e.dtype(), cast(DType::f64, e) * factor);
}

void gemm(OpContext& op) {
  const Operand a = op.in(0);
  const Operand b = op.in(1);
  require(a.rank() == 2 && b.rank() == 2, "matrices are expected, not {} and {}",
          to_string(a.shape), to_string(b.shape));
  const bool a_transposed = op.flag("transA", false);
  const bool b_transposed = op.flag("transB", false);
  const double alpha = op.real("alpha", 1);
  const double beta = op.real("beta", 1);
  const int64_t depth = a.shape[a_transposed ? 0 : 1];
  require(depth == b.shape[b_transposed ? 1 : 0],
          "a product of {}{} and {}{}: the inner extents differ", to_string(a.shape),
          a_transposed ? " transposed" : "", to_string(b.shape), b_transposed ? " transposed" : "");
  const Shape shape{a.shape[a_transposed ? 1 : 0], b.shape[b_transposed ? 0 : 1]};
  std::optional<Operand> c;
  if (op.has(2)) {
    c = op.in(2);
    require(broadcast(shape, c->shape) == shape, "C of shape {} does not broadcast to {}",
            to_string(c->shape), to_string(shape));
  }
  op.out(contraction(
      op, a.dtype, shape, {depth},
      [&](const Axes& out, const Axes& in) {
        return product(a_transposed ? a({in[0], out[0]}) : a({out[0], in[0]}),
                       b_transposed ? b({out[1], in[0]}) : b({in[0], out[1]}));
      },
      [&](const Axes& out, const Expr& sum) {
        Expr whole = scaled(sum, alpha);
        if (!c) return whole;
        return whole + scaled(cast(sum.dtype(), c->broadcast_at(out)), beta);
      }));
}

// Reshapes a parameter per row of the left matrix so that it broadcasts to the matrix.
Operand per_row(Builder& b, const Operand& parameter, const Operand& matrix) {
  if (parameter.rank() != 1 || parameter.shape[0] == 1 || matrix.rank() < 2) return parameter;
  return b.reshape(parameter, {parameter.shape[0], 1});
}

void matmul_integer(OpContext& op) {
  const Operand a = op.in(0);
  const Operand b = op.in(1);
  const Operand left = op.has(2) ? centered(op, a, per_row(op, op.in(2), a)) : centered(op, a);
  const Operand right = op.has(3) ? centered(op, b, op.in(3)) : centered(op, b);
  op.out(matmul(op, left, right));
}

void qlinear_matmul(OpContext& op) {
  const Operand a = op.in(0);
  const Operand b = op.in(3);
  const Operand sum =
      matmul(op, centered(op, a, per_row(op, op.in(2), a)), centered(op, b, op.in(5)));
  const Operand y =
      op.map({sum, per_row(op, op.in(1), a), op.in(4), op.in(6), op.in(7)},
             [](const std::vector<Expr>& e) { return requantized(e[0], e[1], e[2], e[3], e[4]); });
  require(y.shape == sum.shape, "scales broadcast the product from {} to {}", to_string(sum.shape),
          to_string(y.shape));
  op.out(y);
}

// Gaussian elimination with partial pivoting; overwrites the matrix.
double determinant(std::vector<double>& m, int64_t n) {
  double result = 1;
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; ++i) {
      if (std::abs(m[i * n + k]) > std::abs(m[pivot * n + k])) pivot = i;
    }
    if (m[pivot * n + k] == 0) return 0;
    if (pivot != k) {
      std::swap_ranges(m.begin() + pivot * n, m.begin() + (pivot + 1) * n, m.begin() + k * n);
      result = -result;
    }
    result *= m[k * n + k];
    for (int64_t i = k + 1; i < n; ++i) {
      const double factor = m[i * n + k] / m[k * n + k];
      for (int64_t j = k; j < n; ++j) m[i * n + j] -= factor * m[k * n + j];
    }
  }
  return result;
}

// A host kernel: pivoting depends on the elements, so this is not a loop nest.
std::vector<Value> determinants(const HostCall& call) {
  const Tensor& x = call.inputs[0].tensor();
  const int64_t n = x.shape().back();
  const std::vector<double> elements = x.to_doubles();
  Tensor y(x.dtype(), Shape(x.shape().begin(), x.shape().end() - 2));
  dispatch(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < y.count(); ++i) {
      const auto first = elements.begin() + i * n * n;
      std::vector<double> matrix(first, first + n * n);
      y.data<T>()[i] = static_cast<T>(determinant(matrix, n));
    }
  });
  return {y};
}

void det(OpContext& op) {
  const Shape& x = op.shape(0);
  require(x.size() >= 2 && x.back() == x[x.size() - 2], "{} is not a stack of square matrices",
          to_string(x));
  require(is_float(op.dtype(0)), "a determinant of {}", name(op.dtype(0)));
  op.host({TensorType{op.dtype(0), Shape(x.begin(), x.end() - 2)}}, determinants);
}

}  // namespace

const OpTable& contraction_operators() {
  static const OpTable table{
      {"Det", 11, det},
      {"Einsum", 12, einsum},
      {"Gemm", 1, gemm},
      {"MatMul", 1, matmul_of},
      {"MatMulInteger", 10, matmul_integer},
      {"QLinearMatMul", 10, qlinear_matmul},
  };
  return table;
}

}  // namespace aoe
