#include <cmath>

#include "op/families.h"
#include "op/host_kernel.h"
#include "op/operands.h"

namespace aoe {
namespace {

// Converts a loaded index to a position: negative ones count from the end. The range is checked by
// the load that uses it.
Expr position(const Expr& index, int64_t extent) {
  const Expr wide = cast(DType::i64, index);
  return select(lt(wide, 0), wide + extent, wide);
}

// Replaces `axis` of `x` by the axes of `indices`: one slice of `x` per index.
Operand gather(Builder& b, const Operand& x, const Operand& indices, int64_t axis) {
  const auto at = static_cast<size_t>(normalize_axis(axis, x.rank()));
  const auto at_end = at + indices.shape.size();
  Shape shape = x.shape;
  shape.erase(shape.begin() + static_cast<int64_t>(at));
  shape.insert(shape.begin() + static_cast<int64_t>(at), indices.shape.begin(),
               indices.shape.end());
  return b.compute(std::move(shape), [&](const Axes& point) {
    const auto from = point.begin() + static_cast<int64_t>(at);
    const auto to = point.begin() + static_cast<int64_t>(at_end);
    Axes index(point.begin(), from);
    index.push_back(position(indices(Axes(from, to)), x.shape[at]));
    index.insert(index.end(), to, point.end());
    return x(std::move(index));
  });
}

void gather_op(OpContext& op) {
  op.out(gather(op, op.movable(0), int_in(op, 1), op.integer("axis", 0)));
}

void gather_elements(OpContext& op) {
  const Operand x = op.movable(0);
  const Operand indices = int_in(op, 1);
  const auto axis = static_cast<size_t>(normalize_axis(op.integer("axis", 0), x.rank()));
  require(indices.rank() == x.rank(), "indices {} for {}: both must have one rank",
          to_string(indices.shape), to_string(x.shape));
  for (size_t i = 0; i < x.shape.size(); ++i) {
    require(i == axis || indices.shape[i] <= x.shape[i], "indices {} reach beyond axis {} of {}",
            to_string(indices.shape), i, to_string(x.shape));
  }
  op.out(op.compute(indices.shape, [&](const Axes& point) {
    Axes index = point;
    index[axis] = position(indices(point), x.shape[axis]);
    return x(std::move(index));
  }));
}

void gather_nd(OpContext& op) {
  const Operand x = op.movable(0);
  const Operand indices = int_in(op, 1);
  const int64_t batch = op.integer("batch_dims", 0);
  require(batch >= 0 && batch < std::min(x.rank(), indices.rank()),
          "{} batch axes of {} and indices {}", batch, to_string(x.shape),
          to_string(indices.shape));
  for (int64_t i = 0; i < batch; ++i) {
    require(x.extent(i) == indices.extent(i), "batch axis {} differs in {} and indices {}", i,
            to_string(x.shape), to_string(indices.shape));
  }
  const int64_t tuple = indices.shape.back();
  require(tuple >= 1 && tuple <= x.rank() - batch,
          "tuples of {} indices into {} after {} batch axes", tuple, to_string(x.shape), batch);
  const auto picked = static_cast<size_t>(batch + tuple);  // leading axes of x that are indexed
  Shape shape(indices.shape.begin(), indices.shape.end() - 1);
  shape.insert(shape.end(), x.shape.begin() + batch + tuple, x.shape.end());
  op.out(op.compute(std::move(shape), [&](const Axes& point) {
    const auto tail = point.begin() + (indices.rank() - 1);
    Axes at(point.begin(), tail);
    Axes index(point.begin(), point.begin() + batch);
    for (auto axis = static_cast<size_t>(batch); axis < picked; ++axis) {
      at.push_back(Expr::integer(DType::i64, static_cast<int64_t>(axis) - batch));
      index.push_back(position(indices(at), x.shape[axis]));
      at.pop_back();
    }
    index.insert(index.end(), tail, point.end());
    return x(std::move(index));
  }));
}

void one_hot(OpContext& op) {
  const Operand indices = op.in(0);
  const double given_depth = op.number_in(1);
  const Operand values = op.movable(2);  // values for off and on
  require(given_depth >= 0 && given_depth < 0x1p62, "a depth of {}", given_depth);
  require(values.shape == Shape{2}, "values are {}, not the two for off and on",
          to_string(values.shape));
  const auto depth = static_cast<int64_t>(given_depth);
  const int64_t axis = normalize_axis(op.integer("axis", -1), indices.rank() + 1);
  Shape shape = indices.shape;
  shape.insert(shape.begin() + axis, depth);
  op.out(op.compute(std::move(shape), [&](const Axes& point) {
    Axes at = point;
    at.erase(at.begin() + axis);
    const Expr on = eq(position(indices(at), depth), point[static_cast<size_t>(axis)]);
    const Expr zero = Expr::integer(DType::i64, 0);
    return select(on, values({zero + 1}), values({zero}));
  }));
}

// Gathers along the last axis; a vector is treated as a matrix of one row.
void array_feature_extractor(OpContext& op) {
  const Operand x = op.movable(0);
  const Operand indices = int_in(op, 1);
  const Operand flat = op.reshape(indices, {element_count(indices.shape)});
  const Operand rows = x.rank() == 1 ? op.reshape(x, {1, x.shape[0]}) : x;
  op.out(gather(op, rows, flat, -1));
}

// Selects the slices of an axis, or the elements of the flattened tensor, for which the condition
// is true.
void compress(OpContext& op) {
  op.need(2);
  const bool flat = !op.has_attr("axis");
  const int64_t axis = op.integer("axis", 0);
  ValueType result;
  result.dtype = op.type(0).dtype;
  op.host({result}, [=](const HostCall& call) -> std::vector<Value> {
    const Tensor& given = call.inputs[0].tensor();
    const Tensor x = flat ? given.reshaped({given.count()}) : given;
    const Tensor& condition = call.inputs[1].tensor();
    const int64_t extent = view_along(x.shape(), axis).extent;
    require(condition.dtype() == DType::boolean && condition.count() <= extent,
            "the condition is {} where at most {} bools are expected", to_string(condition.type()),
            extent);
    std::vector<int64_t> kept;
    for (int64_t i = 0; i < condition.count(); ++i) {
      if (condition.data<bool>()[i]) kept.push_back(i);
    }
    return {take(x, axis, kept)};
  });
}

}  // namespace

const OpTable& gather_operators() {
  static const OpTable table{
      {"ArrayFeatureExtractor", 1, array_feature_extractor, "ai.onnx.ml"},
      {"Compress", 9, compress},
      {"Gather", 1, gather_op},
      {"GatherElements", 11, gather_elements},
      {"GatherND", 11, gather_nd},
      {"OneHot", 9, one_hot},
  };
  return table;
}

}  // namespace aoe
