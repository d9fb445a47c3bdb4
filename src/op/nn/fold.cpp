#include "op/nn/fold.h"

#include <algorithm>

#include "op/joined.h"

namespace aoe {

FoldAxis::FoldAxis(const Geometry& g)
    : g_(g), quotients_(g.output), remainders_(1), taps_(g.kernel) {
  // If the stride exceeds pad + output, [quotient, remainder] would be larger than the output.
  if (g.stride == 1 || g.dilation > 1 || g.stride > checked_add(g.pad, g.output)) return;
  remainders_ = g.stride;
  taps_ = ceil_div(g.kernel, g.stride);
  first_ = g.pad / g.stride;
  before_ = g.pad % g.stride;
  quotients_ = ceil_div(checked_add(before_, g.output), g.stride);
}

Expr FoldAxis::kernel(const Expr& remainder, const Expr& tap) const {
  if (remainders_ == 1) return tap;
  return taps_ > 1 ? tap * g_.stride + remainder : remainder;
}

Expr FoldAxis::block(const Expr& quotient, const Expr& tap) const {
  if (remainders_ > 1) return quotient + first_ - tap;
  const Expr start = quotient + g_.pad;
  Expr at = taps_ > 1 ? start - tap * g_.dilation : start;
  if (g_.stride == 1) return at;
  return select(eq(mod(at, g_.stride), 0), at / g_.stride, Expr::integer(DType::i64, -1));
}

bool Fold::kernel_index_may_exceed() const {
  return std::any_of(axes.begin(), axes.end(),
                     [](const FoldAxis& axis) { return axis.kernel_index_may_exceed(); });
}

Operand Fold::sum(Builder& b, DType dtype, const Shape& lead, const Shape& over,
                  const Element& element, const Finish& finish) const {
  Shape shape = lead;
  Shape reduced = over;
  Shape laid_out = lead;
  bool exact = true;
  std::vector<size_t> quotient_axis;  // followed by the axis of the remainder, if it is split
  for (size_t i = 0; i < axes.size(); ++i) {
    quotient_axis.push_back(shape.size());
    shape.push_back(axes[i].quotients());
    if (axes[i].remainders() > 1) shape.push_back(axes[i].remainders());
    reduced.push_back(axes[i].taps());
    laid_out.push_back(axes[i].laid_out());
    exact = exact && axes[i].before() == 0 && axes[i].laid_out() == output[i];
  }
  const auto lead_of = [&](const Axes& out) {
    return Axes(out.begin(), out.begin() + static_cast<int64_t>(lead.size()));
  };
  const Operand folded = contraction(
      b, dtype, shape, reduced,
      [&](const Axes& out, const Axes& in) {
        Axes kernel;
        Axes block;
        for (size_t i = 0; i < axes.size(); ++i) {
          const Expr& quotient = out[quotient_axis[i]];
          const Expr& tap = in[over.size() + i];
          const bool split = axes[i].remainders() > 1;
          kernel.push_back(axes[i].kernel(split ? out[quotient_axis[i] + 1] : quotient, tap));
          block.push_back(axes[i].block(quotient, tap));
        }
        const Axes rest(in.begin(), in.begin() + static_cast<int64_t>(over.size()));
        return element(lead_of(out), rest, kernel, block);
      },
      [&](const Axes& out, const Expr& sum) { return finish ? finish(lead_of(out), sum) : sum; });
  Operand whole = b.reshape(folded, laid_out);
  if (exact) return whole;
  return b.compute(joined(lead, output), [&](const Axes& out) {
    Axes index = out;
    for (size_t i = 0; i < axes.size(); ++i) {
      Expr& position = index[lead.size() + i];
      position = position + axes[i].before();
    }
    return whole(index);
  });
}

}  // namespace aoe
