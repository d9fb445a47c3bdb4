#include <algorithm>

#include "op/families.h"
#include "op/joined.h"
#include "op/math/matmul.h"
#include "op/nn/convolution.h"
#include "op/nn/fold.h"

namespace aoe {
namespace {

// The geometry of a transposed convolution: a window that slides over the output.
struct Spread {
  Shape kernel;
  Shape strides;
  Shape dilations;
  Shape pads_begin;
  Shape output;
};

Spread spread_of(const OpContext& op, const Shape& x, Shape kernel) {
  const Shape input = spatial_extents(x);
  const size_t rank = input.size();
  require(kernel.size() == rank, "a kernel of shape {} over an input of shape {}",
          to_string(kernel), to_string(x));
  Spread spread;
  spread.kernel = std::move(kernel);
  spread.strides = spatial_attribute(op, "strides", rank, 1, 1);
  spread.dilations = spatial_attribute(op, "dilations", rank, 1, 1);
  const Shape extra = spatial_attribute(op, "output_padding", rank, 0, 0);
  const Shape pads = spatial_attribute(op, "pads", 2 * rank, 0, 0);
  const AutoPad auto_pad = auto_pad_of(op);
  const bool same = auto_pad == AutoPad::same_upper || auto_pad == AutoPad::same_lower;
  Shape stated = op.integers("output_shape", {});
  // Some exporters include batch and channels.
  if (stated.size() == rank + 2) stated.erase(stated.begin(), stated.begin() + 2);
  require(stated.empty() || stated.size() == rank, "output_shape {} for an input of shape {}",
          to_string(stated), to_string(x));

  for (size_t i = 0; i < rank; ++i) {
    require(input[i] > 0 && spread.kernel[i] > 0,
            "an input of shape {} and a kernel of shape {}: no extent may be 0", to_string(x),
            to_string(spread.kernel));
    const int64_t span = checked_add(checked_mul(spread.kernel[i] - 1, spread.dilations[i]), 1);
    const int64_t whole =
        checked_add(checked_mul(input[i] - 1, spread.strides[i]), checked_add(span, extra[i]));
    int64_t begin = auto_pad == AutoPad::valid ? 0 : pads[i];
    int64_t output = 0;
    if (!stated.empty() || same) {
      output = stated.empty() ? checked_mul(input[i], spread.strides[i]) : stated[i];
      require(output >= 0, "output_shape {} has a negative extent", to_string(stated));
      const int64_t total = std::max<int64_t>(whole - output, 0);
      begin = auto_pad == AutoPad::same_upper ? total / 2 : total - total / 2;
    } else {
      output = whole - begin - (auto_pad == AutoPad::valid ? 0 : pads[rank + i]);
      require(output >= 0, "pads {} leave nothing of an extent of {}", to_string(pads), whole);
    }
    spread.pads_begin.push_back(begin);
    spread.output.push_back(output);
  }
  return spread;
}

Fold fold_of(const Spread& spread) {
  Fold fold;
  fold.output = spread.output;
  for (size_t i = 0; i < spread.kernel.size(); ++i) {
    fold.axes.emplace_back(FoldAxis::Geometry{spread.kernel[i], spread.strides[i],
                                              spread.dilations[i], spread.pads_begin[i],
                                              spread.output[i]});
  }
  return fold;
}

// x [N, C, spatial...], w [C, M / groups, kernel...]
void conv_transpose(OpContext& op) {
  const Operand x = op.in(0);
  const Operand w = op.in(1);
  const Spread spread = spread_of(op, x.shape, kernel_of(op, w.shape));
  require(w.shape[0] == x.shape[1], "{} input channels meet weights of shape {}", x.shape[1],
          to_string(w.shape));
  const int64_t group_count = op.integer("group", 1);
  const int64_t channels = checked_mul(w.shape[1], group_count);
  const Groups groups = groups_of(op, x.shape[1], channels);
  const auto bias = bias_in(op, 2, channels);

  const Operand image = op.reshape(x, groups.split(x.shape, 1));
  const Operand filter = op.reshape(w, groups.split(w.shape, 0));
  std::optional<Operand> offset;
  if (bias) offset = op.reshape(*bias, groups.split(bias->shape, 0));
  const bool grouped = groups.count > 1;
  const Shape lead =
      grouped ? Shape{x.shape[0], groups.count, groups.outputs} : Shape{x.shape[0], groups.outputs};
  const auto group = [&](const Axes& out) { return grouped ? Axes{out[1]} : Axes{}; };

  const Fold fold = fold_of(spread);
  const Expr zero = Expr::integer(x.dtype, 0);
  const Operand y = fold.sum(
      op, x.dtype, lead, {groups.inputs},
      [&](const Axes& out, const Axes& in, const Axes& kernel, const Axes& block) {
        const Axes at_x = joined(joined(joined(Axes{out[0]}, group(out)), in), block);
        const Axes at_w = joined(joined(joined(group(out), in), {out.back()}), kernel);
        return product(image.or_outside(at_x, zero), fold.kernel_index_may_exceed()
                                                         ? filter.or_outside(at_w, zero)
                                                         : filter(at_w));
      },
      [&](const Axes& out, const Expr& sum) {
        if (!offset) return sum;
        return sum + cast(sum.dtype(), (*offset)(joined(group(out), {out.back()})));
      });
  op.out(op.reshape(y, joined(Shape{x.shape[0], channels}, spread.output)));
}

void col2im(OpContext& op) {
  const Operand columns = op.in(0);
  const Shape image = op.ints(1);
  const Shape block = op.ints(2);
  require(columns.rank() == 3 && !image.empty() && image.size() == block.size(),
          "an input of shape {}, an image of shape {} and blocks of shape {} do not fit",
          to_string(columns.shape), to_string(image), to_string(block));
  const int64_t block_size = element_count(block);
  require(block_size > 0 && columns.shape[1] % block_size == 0,
          "{} rows cannot be divided into blocks of shape {}", columns.shape[1], to_string(block));
  const int64_t channels = columns.shape[1] / block_size;
  // Blocks are at the positions of a window that slides over the image.
  const Window window = window_of(op, joined(Shape{columns.shape[0], channels}, image), block);
  require(columns.shape[2] == element_count(window.output),
          "an image of shape {} has blocks at {} positions, not at {}", to_string(image),
          to_string(window.output), columns.shape[2]);

  const Shape lead{columns.shape[0], channels};
  const Operand blocks = op.reshape(columns, joined(joined(lead, block), window.output));
  const Fold fold = fold_of({block, window.strides, window.dilations, window.pads_begin, image});
  const Expr zero = Expr::integer(columns.dtype, 0);
  op.out(fold.sum(op, columns.dtype, lead, {},
                  [&](const Axes& out, const Axes&, const Axes& kernel, const Axes& at) {
                    return cast(product_type(columns.dtype),
                                blocks.or_outside(joined(joined(out, kernel), at), zero));
                  }));
}

}  // namespace

const OpTable& transposed_operators() {
  static const OpTable table{
      {"Col2Im", 18, col2im},
      {"ConvTranspose", 1, conv_transpose},
  };
  return table;
}

}  // namespace aoe
