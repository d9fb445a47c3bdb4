#include <algorithm>

#include "op/context.h"
#include "op/families.h"

namespace aoe {
namespace {

// Shape and Size are constants as soon as the type of the input is known.
void shape(OpContext& op) {
  const Shape& extents = op.shape(0);
  const int64_t rank = op.rank(0);
  const auto clamped = [&](int64_t axis) {
    return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const int64_t start = clamped(op.integer("start", 0));
  const int64_t end = std::max(start, clamped(op.integer("end", rank)));
  op.out(op.constant(Tensor::of_ints({extents.begin() + start, extents.begin() + end})));
}

void size(OpContext& op) {
  op.out(op.constant(Tensor::scalar<int64_t>(element_count(op.shape(0)))));
}

void reshape(OpContext& op) {
  const Shape& from = op.shape(0);
  Shape to = op.ints(1);
  const bool zero_copies = !op.flag("allowzero", false);
  int64_t inferred = -1;
  int64_t others = 1;
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] == 0 && zero_copies) {
      require(i < from.size(), "shape {} copies extent {} of {}, which has no such axis",
              to_string(to), i, to_string(from));
      to[i] = from[i];
    }
    if (to[i] == -1) {
      require(inferred < 0, "shape {} has more than one -1", to_string(to));
      inferred = static_cast<int64_t>(i);
      continue;
    }
    require(to[i] >= 0, "shape {} has a negative extent", to_string(to));
    others = checked_mul(others, to[i]);
  }
  if (inferred >= 0) {
    const int64_t count = element_count(from);
    require(others > 0 && count % others == 0, "{} elements of shape {} cannot take the shape {}",
            count, to_string(from), to_string(to));
    to[static_cast<size_t>(inferred)] = count / others;
  }
  op.out(op.reshape(op.movable(0), std::move(to)));
}

void flatten(OpContext& op) {
  const Shape& from = op.shape(0);
  int64_t axis = op.integer("axis", 1);
  const int64_t rank = op.rank(0);
  require(axis >= -rank && axis <= rank, "axis {} is outside a tensor of rank {}", axis, rank);
  if (axis < 0) axis += rank;
  const auto middle = from.begin() + axis;
  op.out(op.reshape(op.movable(0), {element_count(Shape(from.begin(), middle)),
                                    element_count(Shape(middle, from.end()))}));
}

// Axes are an attribute up to opset 12, an input since 13.
std::optional<std::vector<int64_t>> given_axes(const OpContext& op) {
  if (op.has(1)) return op.ints(1);
  if (op.has_attr("axes")) return op.integers("axes");
  return std::nullopt;
}

void squeeze(OpContext& op) {
  const Shape& from = op.shape(0);
  const auto given = given_axes(op);
  std::vector<bool> dropped(from.size());
  if (given) {
    for (const int64_t axis : normalize_axes(*given, op.rank(0))) {
      const auto at = static_cast<size_t>(axis);
      require(from[at] == 1, "axis {} of {} has extent {}, only 1 can be squeezed", axis,
              to_string(from), from[at]);
      dropped[at] = true;
    }
  } else {
    for (size_t i = 0; i < from.size(); ++i) dropped[i] = from[i] == 1;
  }
  Shape to;
  for (size_t i = 0; i < from.size(); ++i) {
    if (!dropped[i]) to.push_back(from[i]);
  }
  op.out(op.reshape(op.movable(0), std::move(to)));
}

void unsqueeze(OpContext& op) {
  const Shape& from = op.shape(0);
  const auto given = given_axes(op);
  require(given.has_value(), "axes are missing");
  const size_t rank = from.size() + given->size();
  std::vector<bool> added(rank);
  for (const int64_t axis : normalize_axes(*given, static_cast<int64_t>(rank))) {
    added[static_cast<size_t>(axis)] = true;
  }
  Shape to;
  auto next = from.begin();
  for (size_t i = 0; i < rank; ++i) to.push_back(added[i] ? 1 : *next++);
  op.out(op.reshape(op.movable(0), std::move(to)));
}

}  // namespace

const OpTable& shape_operators() {
  static const OpTable table{
      {"Flatten", 1, flatten}, {"Reshape", 5, reshape}, {"Shape", 1, shape},
      {"Size", 1, size},       {"Squeeze", 1, squeeze}, {"Unsqueeze", 1, unsqueeze},
  };
  return table;
}

}  // namespace aoe
