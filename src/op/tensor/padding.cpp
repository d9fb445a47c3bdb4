#include <algorithm>

#include "op/families.h"
#include "op/operands.h"
#include "op/tensor/movement.h"

namespace aoe {
namespace {

// Maps position `at`, which may be outside an axis of `extent`, to the position of its element.
Expr source(PadMode mode, const Expr& at, int64_t extent) {
  Expr zero = Expr::integer(DType::i64, 0);
  switch (mode) {
    case PadMode::constant: return at;
    case PadMode::edge: return clamp(at, zero, Expr::integer(DType::i64, extent - 1));
    case PadMode::wrap: return mod(at, extent);
    case PadMode::reflect: break;
  }
  if (extent == 1) return zero;
  // A triangle wave with period 2 * last: the ends are not repeated.
  const int64_t last = extent - 1;
  return last - abs(mod(at, checked_mul(2, last)) - last);
}

}  // namespace

Operand pad(Builder& b, const Operand& x, const std::vector<Margin>& margins, PadMode mode,
            const Expr& value) {
  std::vector<Range> kept;
  Shape shape;
  for (size_t i = 0; i < margins.size(); ++i) {
    const auto [before, after] = margins[i];
    const int64_t extent = x.shape[i];
    const int64_t start = -std::clamp<int64_t>(before, -extent, 0);
    const int64_t end = extent + std::clamp<int64_t>(after, -extent, 0);
    require(before >= -extent && after >= -extent && start <= end,
            "margins of {} and {} cut off more than an axis of {} has", before, after, extent);
    shape.push_back(checked_add(checked_add(extent, before), after));
    require(mode == PadMode::constant || start < end || shape.back() == 0,
            "an axis of {} is cropped to nothing and cannot be padded from its elements", extent);
    kept.push_back({start, end - start, 1});
  }
  const bool padded = std::any_of(margins.begin(), margins.end(),
                                  [](const Margin& m) { return m.before > 0 || m.after > 0; });
  if (!padded) return slice(b, x, kept);
  const Expr outside = value ? value : Expr::integer(x.dtype, 0);
  return b.compute(std::move(shape), [&](const Axes& point) {
    Axes index;
    for (size_t i = 0; i < margins.size(); ++i) {
      if (mode == PadMode::constant) {
        index.push_back(point[i] - margins[i].before);
      } else {
        const Expr at = point[i] - std::max<int64_t>(margins[i].before, 0);
        const bool inside = margins[i].before <= 0 && margins[i].after <= 0;
        index.push_back((inside ? at : source(mode, at, kept[i].extent)) + kept[i].start);
      }
    }
    return mode == PadMode::constant ? x.or_outside(std::move(index), outside) : x(index);
  });
}

namespace {

PadMode pad_mode(const std::string& name) {
  if (name == "constant") return PadMode::constant;
  if (name == "edge") return PadMode::edge;
  if (name == "reflect") return PadMode::reflect;
  if (name == "wrap") return PadMode::wrap;
  fail("mode '{}' is not one of constant, edge, reflect and wrap", name);
}

void pad_op(OpContext& op) {
  const Operand x = op.movable(0);
  const std::vector<int64_t> pads = op.has(1) ? op.ints(1) : op.integers("pads");
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < x.rank(); ++i) axes.push_back(i);
  if (op.has(3)) axes = normalize_axes(op.ints(3), x.rank());
  require(pads.size() == 2 * axes.size(), "{} pads for {} axes: each needs two", pads.size(),
          axes.size());
  std::vector<Margin> margins(x.shape.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    margins[static_cast<size_t>(axes[i])] = {pads[i], pads[axes.size() + i]};
  }
  Expr value;
  if (op.has(2)) {
    const Operand given = op.movable(2);
    require(given.dtype == x.dtype, "the value is {}, the tensor {}", name(given.dtype),
            name(x.dtype));
    value = op.reshape(given, {})({});
  } else if (op.has_attr("value")) {
    value = Expr::constant(x.dtype, op.real("value"));
  }
  op.out(pad(op, x, margins, pad_mode(op.text("mode", "constant")), value));
}

void center_crop_pad(OpContext& op) {
  const Operand x = op.movable(0);
  const std::vector<int64_t> target = op.ints(1);
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < x.rank(); ++i) axes.push_back(i);
  axes = normalize_axes(op.integers("axes", axes), x.rank());
  require(target.size() == axes.size(), "{} extents for {} axes", target.size(), axes.size());
  std::vector<Margin> margins(x.shape.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    require(target[i] >= 0, "a target extent of {}", target[i]);
    // Division truncates: of an odd difference, the larger part is at the end.
    const int64_t difference = target[i] - x.extent(axes[i]);
    margins[static_cast<size_t>(axes[i])] = {difference / 2, difference - difference / 2};
  }
  op.out(pad(op, x, margins, PadMode::constant));
}

void trilu(OpContext& op) {
  const Operand x = op.movable(0);
  require(x.rank() >= 2, "{} holds no matrices", to_string(x.shape));
  const bool upper = op.flag("upper", true);
  const Expr diagonal =
      op.has(1) ? cast(DType::i64, scalar_in(op, 1)({})) : Expr::integer(DType::i64, 0);
  op.out(op.compute(x.shape, [&](const Axes& point) {
    const Expr above = point[point.size() - 1] - point[point.size() - 2];
    const Expr kept = upper ? le(diagonal, above) : le(above, diagonal);
    return select(kept, x(point), Expr::integer(x.dtype, 0));
  }));
}

void reverse_sequence(OpContext& op) {
  const Operand x = op.movable(0);
  const Operand lengths = int_in(op, 1);
  const int64_t time = op.integer("time_axis", 0);
  const int64_t batch = op.integer("batch_axis", 1);
  require(x.rank() >= 2 && (time == 0 || time == 1) && batch == 1 - time,
          "time axis {} and batch axis {} of {}: they must be 0 and 1, or 1 and 0", time, batch,
          to_string(x.shape));
  require(lengths.shape == Shape{x.extent(batch)}, "lengths of shape {} for a batch of {}",
          to_string(lengths.shape), x.extent(batch));
  op.out(op.compute(x.shape, [&](const Axes& point) {
    const Expr length = cast(DType::i64, lengths({point[static_cast<size_t>(batch)]}));
    Axes index = point;
    Expr& position = index[static_cast<size_t>(time)];
    position = select(lt(position, length), length - 1 - position, position);
    return x(std::move(index));
  }));
}

}  // namespace

const OpTable& padding_operators() {
  static const OpTable table{
      {"CenterCropPad", 18, center_crop_pad},
      {"Pad", 2, pad_op},
      {"ReverseSequence", 10, reverse_sequence},
      {"Trilu", 14, trilu},
  };
  return table;
}

}  // namespace aoe
