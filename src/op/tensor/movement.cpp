#include "op/tensor/movement.h"

#include <algorithm>

#include "op/context.h"
#include "op/families.h"

namespace aoe {
namespace {

// More parts than this are concatenated in two halves first, because the expression of an element
// contains a load from every part.
constexpr size_t kPartsAtOnce = 8;

// Returns the element at `point` of the concatenation of parts [first, last), which begins at
// `begin`.
Expr joined(const std::vector<Operand>& parts, size_t first, size_t last, int64_t begin,
            const Axes& point, size_t axis) {
  if (last - first == 1) {
    Axes index = point;
    index[axis] = point[axis] - begin;
    return parts[first](std::move(index));
  }
  const size_t middle = first + (last - first) / 2;
  int64_t boundary = begin;
  for (size_t i = first; i < middle; ++i) boundary += parts[i].shape[axis];
  return select(lt(point[axis], boundary), joined(parts, first, middle, begin, point, axis),
                joined(parts, middle, last, boundary, point, axis));
}

std::vector<int64_t> reversed_axes(int64_t rank) {
  std::vector<int64_t> axes;
  for (int64_t i = rank; i-- > 0;) axes.push_back(i);
  return axes;
}

std::vector<Range> whole(const Shape& shape) {
  std::vector<Range> ranges;
  for (const int64_t extent : shape) ranges.push_back({.start = 0, .extent = extent, .step = 1});
  return ranges;
}

}  // namespace

Operand transpose(Builder& b, const Operand& x, const std::vector<int64_t>& perm) {
  require(perm.size() == x.shape.size() && normalize_axes(perm, x.rank()) == perm,
          "permutation {} does not fit a tensor of rank {}", to_string(perm), x.rank());
  Shape shape;
  std::vector<int64_t>
      moved;  // axes with an extent other than 1: their order decides whether elements move
  for (const int64_t axis : perm) {
    shape.push_back(x.extent(axis));
    if (shape.back() != 1) moved.push_back(axis);
  }
  if (std::is_sorted(moved.begin(), moved.end())) return b.reshape(x, std::move(shape));
  return b.compute(std::move(shape), [&](const Axes& point) {
    Axes index(perm.size());
    for (size_t i = 0; i < perm.size(); ++i) index[static_cast<size_t>(perm[i])] = point[i];
    return x(std::move(index));
  });
}

Operand concat(Builder& b, const std::vector<Operand>& parts, int64_t axis) {
  require(!parts.empty(), "there is nothing to join");
  const Operand& first = parts[0];
  const auto at = static_cast<size_t>(normalize_axis(axis, first.rank()));
  Shape shape = first.shape;
  shape[at] = 0;
  std::vector<Operand> filled;
  for (const Operand& part : parts) {
    Shape rest = part.shape;
    if (rest.size() == shape.size()) rest[at] = shape[at];
    require(rest == shape && part.dtype == first.dtype, "{} and {} cannot be joined along axis {}",
            to_string(TensorType{first.dtype, first.shape}),
            to_string(TensorType{part.dtype, part.shape}), axis);
    shape[at] = checked_add(shape[at], part.shape[at]);
    if (part.shape[at] > 0) filled.push_back(part);
  }
  if (filled.empty()) return first;
  if (filled.size() == 1) return filled[0];
  if (filled.size() > kPartsAtOnce) {
    const auto middle = filled.begin() + static_cast<int64_t>(filled.size() / 2);
    return concat(
        b, {concat(b, {filled.begin(), middle}, axis), concat(b, {middle, filled.end()}, axis)},
        axis);
  }
  return b.compute(std::move(shape), [&](const Axes& point) {
    return joined(filled, 0, filled.size(), 0, point, at);
  });
}

Operand slice(Builder& b, const Operand& x, const std::vector<Range>& ranges) {
  Shape shape;
  bool everything = true;
  for (size_t i = 0; i < ranges.size(); ++i) {
    shape.push_back(ranges[i].extent);
    everything = everything && ranges[i].extent == x.shape[i] &&
                 (ranges[i].step == 1 || ranges[i].extent <= 1);
  }
  if (everything) return x;
  return b.compute(std::move(shape), [&](const Axes& point) {
    Axes index;
    for (size_t i = 0; i < ranges.size(); ++i) {
      index.push_back(point[i] * ranges[i].step + ranges[i].start);
    }
    return x(std::move(index));
  });
}

Operand slice(Builder& b, const Operand& x, int64_t axis, int64_t start, int64_t extent) {
  std::vector<Range> ranges = whole(x.shape);
  ranges[static_cast<size_t>(normalize_axis(axis, x.rank()))] = {start, extent, 1};
  return slice(b, x, ranges);
}

Operand expand(Builder& b, const Operand& x, const Shape& shape) {
  Shape common = broadcast(x.shape, shape);
  if (element_count(common) == element_count(x.shape)) return b.reshape(x, std::move(common));
  return b.compute(std::move(common), [&](const Axes& point) { return x.broadcast_at(point); });
}

void require_parts(const std::vector<int64_t>& sizes, int64_t extent) {
  int64_t total = 0;
  for (const int64_t size : sizes) {
    require(size >= 0, "a part of size {}", size);
    total = checked_add(total, size);
  }
  require(total == extent, "parts of sizes {} do not make up an axis of {}", to_string(sizes),
          extent);
}

namespace {

void transpose_op(OpContext& op) {
  const Operand x = op.movable(0);
  op.out(transpose(op, x, op.integers("perm", reversed_axes(x.rank()))));
}

void concat_op(OpContext& op) {
  std::vector<Operand> parts;
  for (int i = 0; i < op.input_count(); ++i) parts.push_back(op.movable(i));
  op.out(concat(op, parts, op.integer("axis")));
}

// Sizes are an attribute or an input. Without them the parts are equal; since opset 18 the last may
// be smaller.
std::vector<int64_t> split_sizes(const OpContext& op, int64_t extent) {
  if (op.has(1)) return op.ints(1);
  if (op.has_attr("split")) return op.integers("split");
  const int64_t parts = op.integer("num_outputs", op.output_count());
  require(parts == op.output_count(), "num_outputs is {}, but there are {} outputs", parts,
          op.output_count());
  require(parts > 0 && (op.opset() >= 18 || extent % parts == 0),
          "an axis of {} cannot be split into {} equal parts", extent, parts);
  const int64_t each = ceil_div(extent, parts);
  std::vector<int64_t> sizes;
  for (int64_t left = extent; std::ssize(sizes) < parts; left -= sizes.back()) {
    sizes.push_back(std::min(each, left));
  }
  return sizes;
}

void split(OpContext& op) {
  const Operand x = op.movable(0);
  const int64_t axis = normalize_axis(op.integer("axis", 0), x.rank());
  const int64_t extent = x.extent(axis);
  const std::vector<int64_t> sizes = split_sizes(op, extent);
  require_parts(sizes, extent);
  require(std::ssize(sizes) >= op.output_count(), "{} parts for {} outputs", sizes.size(),
          op.output_count());
  int64_t start = 0;
  for (int i = 0; i < op.output_count(); ++i) {
    const int64_t size = sizes[static_cast<size_t>(i)];
    op.out(slice(op, x, axis, start, size));
    start += size;
  }
}

// Returns the positions that start:end:step selects of `extent`, clamped as ONNX specifies.
Range selected(int64_t start, int64_t end, int64_t step, int64_t extent) {
  require(step != 0, "a step of 0");
  if (extent == 0) return {};
  // A longer step selects the same positions, and could overflow below.
  step = std::clamp(step, -extent, extent);
  if (start < 0) start += extent;
  if (end < 0) end += extent;
  if (step > 0) {
    start = std::clamp<int64_t>(start, 0, extent);
    end = std::clamp<int64_t>(end, 0, extent);
    return {start, std::max<int64_t>(0, ceil_div(end - start, step)), step};
  }
  start = std::clamp<int64_t>(start, 0, extent - 1);
  end = std::clamp<int64_t>(end, -1, extent - 1);
  return {start, std::max<int64_t>(0, ceil_div(start - end, -step)), step};
}

void slice_op(OpContext& op) {
  const bool inputs = op.opset() >= 10;
  const Operand x = op.movable(0);
  const std::vector<int64_t> starts = inputs ? op.ints(1) : op.integers("starts");
  const std::vector<int64_t> ends = inputs ? op.ints(2) : op.integers("ends");
  std::vector<int64_t> axes;
  for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  if (inputs && op.has(3)) axes = op.ints(3);
  if (!inputs) axes = op.integers("axes", axes);
  std::vector<int64_t> steps(starts.size(), 1);
  if (inputs && op.has(4)) steps = op.ints(4);
  require(
      ends.size() == starts.size() && axes.size() == starts.size() && steps.size() == starts.size(),
      "{} starts, {} ends, {} axes and {} steps: there must be as many of each", starts.size(),
      ends.size(), axes.size(), steps.size());
  axes = normalize_axes(axes, x.rank());
  std::vector<Range> ranges = whole(x.shape);
  for (size_t i = 0; i < axes.size(); ++i) {
    ranges[static_cast<size_t>(axes[i])] =
        selected(starts[i], ends[i], steps[i], x.extent(axes[i]));
  }
  op.out(slice(op, x, ranges));
}

void tile(OpContext& op) {
  const Operand x = op.movable(0);
  const std::vector<int64_t> repeats = op.ints(1);
  require(repeats.size() == x.shape.size(), "{} repeats for a tensor of rank {}", repeats.size(),
          x.rank());
  Shape shape;
  Shape nested;  // each axis as [repetition, position]
  for (size_t i = 0; i < repeats.size(); ++i) {
    require(repeats[i] >= 0, "{} repeats", repeats[i]);
    shape.push_back(checked_mul(repeats[i], x.shape[i]));
    nested.insert(nested.end(), {repeats[i], x.shape[i]});
  }
  if (shape == x.shape) return op.out(x);
  const Operand tiled = op.compute(std::move(nested), [&](const Axes& point) {
    Axes index;
    for (size_t i = 1; i < point.size(); i += 2) index.push_back(point[i]);
    return x(std::move(index));
  });
  op.out(op.reshape(tiled, std::move(shape)));
}

void expand_op(OpContext& op) {
  const Shape shape = op.ints(1);
  element_count(shape);  // fails on negative extents
  op.out(expand(op, op.movable(0), shape));
}

}  // namespace

const OpTable& movement_operators() {
  static const OpTable table{
      {"Concat", 4, concat_op}, {"Expand", 8, expand_op}, {"Slice", 1, slice_op},
      {"Split", 2, split},      {"Tile", 6, tile},        {"Transpose", 1, transpose_op},
  };
  return table;
}

}  // namespace aoe
