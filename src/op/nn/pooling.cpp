#include <algorithm>

#include "op/families.h"
#include "op/joined.h"
#include "op/nn/window.h"
#include "op/operands.h"

namespace aoe {
namespace {

Window pooling_window(const OpContext& op) {
  return window_of(op, op.shape(0), op.integers("kernel_shape"), op.flag("ceil_mode", false));
}

// The window for reductions over the input, without kernel positions that only meet padding.
Window reduction_window(const OpContext& op) {
  return pooling_window(op).without_padding_only_taps();
}

// Index into the input for an output point and a kernel position.
Axes index_at(const Window& window, const Axes& out, const Axes& in) {
  return joined(Axes{out[0], out[1]}, window.positions(std::span(out).subspan(2), in));
}

Shape pooled_shape(const OpContext& op, const Window& window) {
  return joined(Shape{op.shape(0)[0], op.shape(0)[1]}, window.output);
}

// Row-major position of `index` in the spatial axes.
Expr flat_index(std::span<const Expr> index, const Shape& extents) {
  Expr flat = Expr::integer(DType::i64, 0);
  for (size_t i = 0; i < extents.size(); ++i) flat = flat * extents[i] + index[i];
  return flat;
}

// Converts a row-major position to column-major order (first spatial axis fastest).
Expr column_major(Expr flat, const Shape& extents) {
  std::vector<Expr> index(extents.size());
  for (size_t i = extents.size(); i-- > 0;) {
    index[i] = i == 0 ? flat : mod(flat, extents[i]);
    flat = flat / extents[i];
  }
  Expr result = Expr::integer(DType::i64, 0);
  for (size_t i = extents.size(); i-- > 0;) result = result * extents[i] + index[i];
  return result;
}

void max_pool(OpContext& op) {
  const Window window = reduction_window(op);
  const Operand x = op.in(0);
  const Shape shape = pooled_shape(op, window);
  const auto value = [&](const Axes& out, const Axes& in) {
    return window.load(x, index_at(window, out, in), lowest(x.dtype));
  };
  if (!op.wants(1)) return op.out(op.reduce(max_of(x.dtype), shape, window.kernel, value));

  const bool by_column = op.integer("storage_order", 0) != 0;
  const int64_t image = element_count(window.input);
  const auto results = op.reduce_all(
      arg_max_of(x.dtype, false), shape, window.kernel,
      [&](const Axes& out, const Axes& in) {
        const Axes index = index_at(window, out, in);
        const auto spatial = std::span(index).subspan(2);
        Expr position = flat_index(spatial, window.input);
        // Padding must lose against an equal element, so it gets the highest position.
        for (size_t i = 0; i < window.rank() && window.reaches_outside(); ++i) {
          const Expr inside = le(0, spatial[i]) & lt(spatial[i], window.input[i]);
          position = select(inside, position, highest(DType::i64));
        }
        return std::vector{value(out, in), position};
      },
      [&](const Axes& out, const std::vector<Expr>& best) {
        const Expr position = by_column ? column_major(best[1], window.input) : best[1];
        return std::vector{best[0], (out[0] * x.shape[1] + out[1]) * image + position};
      });
  op.out(results[0]);
  op.out(results[1]);
}

// Number of kernel positions inside the input (and its padding, if requested) at an output
// position, along one axis.
Expr count_along(const Window& window, size_t axis, const Expr& out, bool with_padding) {
  const int64_t kernel = window.kernel[axis];
  const int64_t dilation = window.dilations[axis];
  const int64_t pad = window.pads_begin[axis];
  const int64_t edge = window.input[axis] + pad + (with_padding ? window.pads_end[axis] : 0);
  const Expr start = out * window.strides[axis];  // in the padded input
  Expr end = min((edge - start + (dilation - 1)) / dilation, kernel);
  if (with_padding || pad == 0) return end;
  return max(end - max((pad - start + (dilation - 1)) / dilation, 0), 0);
}

void average_pool(OpContext& op) {
  const Window window = pooling_window(op);
  const Window seeing = window.without_padding_only_taps();
  const Operand x = op.in(0);
  const bool with_padding = op.flag("count_include_pad", false);
  const DType type = wide_type(x.dtype);
  op.out(op.reduce_all(
      sum_of(type), pooled_shape(op, window), seeing.kernel,
      [&](const Axes& out, const Axes& in) {
        const Expr e = seeing.load(x, index_at(seeing, out, in), Expr::integer(x.dtype, 0));
        return std::vector{cast(type, e)};
      },
      [&](const Axes& out, const std::vector<Expr>& sum) {
        Expr count = Expr::integer(DType::i64, 1);
        for (size_t i = 0; i < window.rank(); ++i) {
          const int64_t reach = (window.output[i] - 1) * window.strides[i] + window.span(i);
          const int64_t edge =
              window.input[i] + window.pads_begin[i] + (with_padding ? window.pads_end[i] : 0);
          const bool whole = reach <= edge && (with_padding || window.pads_begin[i] == 0);
          count = count * (whole ? Expr::integer(DType::i64, window.kernel[i])
                                 : count_along(window, i, out[2 + i], with_padding));
        }
        return std::vector{cast(x.dtype, sum[0] / cast(type, count))};
      })[0]);
}

// The two steps of an Lp norm: |x|^p, and the p-th root of their sum.
Expr powered(const Expr& x, int64_t p) {
  if (p == 1) return abs(x);
  return p == 2 ? x * x : pow(abs(x), p);
}
Expr rooted(const Expr& sum, int64_t p) {
  if (p == 1) return sum;
  return p == 2 ? sqrt(sum) : pow(sum, 1 / static_cast<double>(p));
}

int64_t norm_of(const OpContext& op) {
  const int64_t p = op.integer("p", 2);
  require(p >= 1, "p is {}; at least 1 is expected", p);
  return p;
}

void lp_pool(OpContext& op) {
  const Window window = reduction_window(op);
  const Operand x = op.in(0);
  const int64_t p = norm_of(op);
  const DType type = wide_type(x.dtype);
  op.out(op.reduce_all(
      sum_of(type), pooled_shape(op, window), window.kernel,
      [&](const Axes& out, const Axes& in) {
        const Expr e = window.load(x, index_at(window, out, in), Expr::integer(x.dtype, 0));
        return std::vector{powered(cast(type, e), p)};
      },
      [&](const Axes&, const std::vector<Expr>& sum) {
        return std::vector{cast(x.dtype, rooted(sum[0], p))};
      })[0]);
}

using Element = std::function<Expr(const Expr&)>;

// Reduces all spatial axes, which remain with extent 1.
void global_pool(OpContext& op, const Reducer& reducer, const Element& before,
                 const Element& after) {
  const Operand x = op.in(0);
  require(x.rank() >= 2, "an input of shape {} has no batch and channel", to_string(x.shape));
  const Shape spatial(x.shape.begin() + 2, x.shape.end());
  Shape shape(x.shape.size(), 1);
  std::copy_n(x.shape.begin(), 2, shape.begin());
  op.out(op.reduce_all(
      reducer, shape, spatial,
      [&](const Axes& out, const Axes& in) {
        return std::vector{before(x(joined(Axes{out[0], out[1]}, in)))};
      },
      [&](const Axes&, const std::vector<Expr>& r) { return std::vector{after(r[0])}; })[0]);
}

Expr same(const Expr& e) { return e; }

void global_max_pool(OpContext& op) { global_pool(op, max_of(op.dtype(0)), same, same); }

void global_average_pool(OpContext& op) {
  const Shape& x = op.shape(0);
  const int64_t count = element_count(Shape(x.begin() + std::min<size_t>(2, x.size()), x.end()));
  const DType dtype = op.dtype(0);
  const DType type = wide_type(dtype);
  global_pool(
      op, sum_of(type), [&](const Expr& e) { return cast(type, e); },
      [&](const Expr& e) { return cast(dtype, e / count); });
}

void global_lp_pool(OpContext& op) {
  const int64_t p = norm_of(op);
  const DType dtype = op.dtype(0);
  const DType type = wide_type(dtype);
  global_pool(
      op, sum_of(type), [&](const Expr& e) { return powered(cast(type, e), p); },
      [&](const Expr& e) { return cast(dtype, rooted(e, p)); });
}

// A host kernel: the positions to write to are in a tensor.
std::vector<Value> unpool(const Tensor& x, const Tensor& places, const Shape& pooled_from,
                          const Shape& shape) {
  Tensor y = Tensor::zeros({x.dtype(), shape});
  const Shape from_strides = row_major_strides(pooled_from);
  const Shape strides = row_major_strides(shape);
  const int64_t limit = element_count(pooled_from);
  const int64_t count = x.count();
  dispatch(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t place = places.data<int64_t>()[i];
      if (place < 0 || place >= limit) {
        fail("index {} is outside the {} elements of {}", place, limit, to_string(pooled_from));
      }
      int64_t at = 0;
      for (size_t axis = 0; axis < shape.size(); ++axis) {
        at += place / from_strides[axis] % pooled_from[axis] * strides[axis];
      }
      y.data<T>()[at] = x.data<T>()[i];
    }
  });
  return {y};
}

void max_unpool(OpContext& op) {
  const Shape& x = op.shape(0);
  const Shape spatial = spatial_extents(x);
  const size_t rank = spatial.size();
  require(op.shape(1) == x && op.dtype(1) == DType::i64,
          "indices of type {} and shape {} for an input of shape {}", name(op.dtype(1)),
          to_string(op.shape(1)), to_string(x));
  require(is_float(op.dtype(0)), "an input of {}; floats are expected", name(op.dtype(0)));
  const Shape kernel = op.integers("kernel_shape");
  require(kernel.size() == rank, "kernel_shape {} for an input of shape {}", to_string(kernel),
          to_string(x));
  const Shape strides = spatial_attribute(op, "strides", rank, 1, 1);
  const Shape pads = spatial_attribute(op, "pads", 2 * rank, 0, 0);
  // The smallest input shape from which pooling gives this shape; indices refer to it.
  Shape pooled_from{x[0], x[1]};
  for (size_t i = 0; i < rank; ++i) {
    const int64_t padded = checked_add(checked_mul(spatial[i] - 1, strides[i]), kernel[i]);
    pooled_from.push_back(checked_add(padded, -checked_add(pads[i], pads[rank + i])));
  }
  Shape shape = op.has(2) ? op.ints(2) : pooled_from;
  require(shape.size() == x.size(), "output_shape {} for an input of shape {}", to_string(shape),
          to_string(x));
  for (size_t i = 0; i < shape.size(); ++i) {
    require(shape[i] >= pooled_from[i], "output_shape {} is smaller than {}", to_string(shape),
            to_string(pooled_from));
  }
  const TensorType type{op.dtype(0), shape};
  element_count(pooled_from);
  op.host({type}, [pooled_from, shape](const HostCall& call) {
    return unpool(call.inputs[0].tensor(), call.inputs[1].tensor(), pooled_from, shape);
  });
}

}  // namespace

const OpTable& pooling_operators() {
  static const OpTable table{
      {"AveragePool", 1, average_pool},
      {"GlobalAveragePool", 1, global_average_pool},
      {"GlobalLpPool", 2, global_lp_pool},
      {"GlobalMaxPool", 1, global_max_pool},
      {"LpPool", 2, lp_pool},
      {"MaxPool", 1, max_pool},
      {"MaxUnpool", 9, max_unpool},
  };
  return table;
}

}  // namespace aoe
