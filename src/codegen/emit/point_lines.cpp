#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Module.h>

#include <cmath>

#include "codegen/emit/point_emitter.h"
#include "device/machine_model.h"
#include "expr/rewrite.h"

// Loads from lines of memory (the last dimension of a buffer). First those with a step, for points
// that share a line: the line is read by vector loads (whole_of), its elements with equal position
// modulo the step are brought side by side (part_of), and a load takes its lanes from there
// (from_line). Then those without a step that are wholly inside or outside a tensor
// (from_line_outside).

namespace aoe {

// Describes a load that reads a line at known positions with a step, some of which may lie outside
// the line. Returns nullopt for other loads.
std::optional<PointEmitter::InLine> PointEmitter::in_line(const Expr& load, Point& point) {
  if (load->linear || load->rank < 2 || !has_out_of_range_value(load) || point.lanes == 1)
    return std::nullopt;
  if (!load->operands.back().is_constant()) return std::nullopt;
  const auto last = static_cast<size_t>(load->rank) - 1;
  const auto at = linear(load->operands[last], point);
  // Without a step, an unaligned vector load is all that it takes.
  if (!at || at->variable != nullptr || at->lane_stride < 2 ||
      at->lane_stride > machine::kLargestDeinterleavedStride) {
    return std::nullopt;
  }
  const Access access = access_of(load, last, point, nullptr);
  if (!access.at || access.at->lane_stride != 0 ||
      (access.mask != nullptr && lanes_of(access.mask) > 1)) {
    return std::nullopt;
  }
  // The key has positions, not an offset: a line outside may have the same offset as one inside.
  std::vector<int64_t> key{load->id};
  for (size_t d = 0; d < last; ++d) {
    const auto position = linear(load->operands[d], point);
    if (!position) return std::nullopt;
    key.push_back(position->constant);
  }
  Line& line = (*lines_)[key];
  if (line.start == nullptr) {
    line.start = pointer(access.id, *access.at);
    line.mask = access.mask;
  }
  const int64_t step = at->lane_stride;
  const int64_t first = floor_div(at->constant, step);
  return InLine{&line, step, at->constant - first * step, first};
}

llvm::Value* PointEmitter::from_line(const Expr& load, Point& point) {
  const auto in = in_line(load, point);
  if (!in) return nullptr;
  const int64_t place = floor_div(in->first, int64_t{point.lanes});
  const int64_t shift = in->first - place * point.lanes;
  llvm::Value* low = part_of(*in, load, place, point);
  if (shift == 0) return low;
  return ir_.CreateShuffleVector(low, part_of(*in, load, place + 1, point),
                                 llvm::createSequentialMask(shift, point.lanes, 0));
}

std::optional<int64_t> PointEmitter::place_in_line(const Expr& load, Point& point) {
  const auto in = in_line(load, point);
  return in ? std::optional(in->first) : std::nullopt;
}

llvm::Value* PointEmitter::part_of_line(const Expr& load, Point& point, int64_t place) {
  const auto in = in_line(load, point);
  const int64_t extent = nest_.buffers[static_cast<size_t>(load->id)].shape.back();
  if (place < 0 || place * point.lanes * in->step + in->rest >= extent) return nullptr;
  return part_of(*in, load, place, point);
}

// Elements place * lanes to (place + 1) * lanes - 1 of the line, or the out-of-range value.
llvm::Value* PointEmitter::whole_of(Line& line, const Expr& load, int64_t place, Point& point) {
  llvm::Value*& value = line.whole[place];
  if (value != nullptr) return value;
  const auto id = static_cast<size_t>(load->id);
  const int64_t left = nest_.buffers[id].shape.back() - place * point.lanes;
  llvm::Value* outside = vector(load->operands.back(), point);
  if (place < 0 || left <= 0) return value = outside;
  llvm::Value* mask =
      elements_.splat(mask_and(line.mask, first_lanes(left, point.lanes)), point.lanes);
  llvm::Value* from = element(id, line.start, place * point.lanes);
  return value = read(id, from, point.lanes, mask, outside);
}

// Elements number place * lanes to (place + 1) * lanes - 1 of those at rest, rest + step, ...
llvm::Value* PointEmitter::part_of(const InLine& in, const Expr& load, int64_t place,
                                   Point& point) {
  llvm::Value*& value = in.line->parts[{in.rest, place}];
  if (value != nullptr) return value;
  const auto whole = [&](int64_t v) {
    return whole_of(*in.line, load, place * in.step + v, point);
  };
  return value = deinterleaved(in.step, in.rest, in.step, point.lanes, whole);
}

// Returns memory with `count` elements that all have the out-of-range value `outside`; null if it
// would be too large, or if the value's bits are not known here: only f32, f64 and zeros are
// supported, and f8e8m0 has no zero.
llvm::Value* PointEmitter::line_outside(DType dtype, const Expr& outside, int64_t count) {
  constexpr int64_t kLargest = 16 << 10;
  const bool plain = dtype == DType::f32 || dtype == DType::f64;
  const bool zero = outside->number == 0 && !std::signbit(outside->number);
  const int64_t bytes = count * info(dtype).bytes;
  if (bytes > kLargest || dtype == DType::f8e8m0 || !(plain || zero)) return nullptr;
  llvm::Value*& line = lines_outside_[{dtype, zero ? 0 : outside->number, count}];
  if (line != nullptr) return line;
  llvm::Type* const element = plain ? elements_.type(dtype, 1) : ir_.getInt8Ty();
  auto* const type = llvm::ArrayType::get(element, static_cast<uint64_t>(plain ? count : bytes));
  llvm::Constant* contents = llvm::Constant::getNullValue(type);
  if (!zero) {
    const std::vector<llvm::Constant*> elements(static_cast<size_t>(count),
                                                llvm::ConstantFP::get(element, outside->number));
    contents = llvm::ConstantArray::get(type, elements);
  }
  return line = new llvm::GlobalVariable(*function_.function().getParent(), type, true,
                                         llvm::GlobalValue::PrivateLinkage, contents);
}

llvm::Value* PointEmitter::zeros(size_t id, int64_t count) {
  return line_outside(DType::u8, Expr::constant(DType::u8, 0),
                      count * info(nest_.buffers[id].dtype).bytes);
}

// Emits a load whose vectors are wholly inside or wholly outside the tensor, or returns null. If
// they are outside, memory with the out-of-range value is read instead (line_outside). The choice
// does not depend on the position along the vector axis, so it is made once for a line.
llvm::Value* PointEmitter::from_line_outside(const Expr& load, const Access& access, Point& point) {
  if (!access.at || access.at->lane_stride != 1 || access.mask == nullptr || point.lanes == 1 ||
      lanes_of(access.mask) > 1 || !has_out_of_range_value(load) ||
      !load->operands.back().is_constant()) {
    return nullptr;
  }
  const auto axis = static_cast<size_t>(loop_->policy.vector_axis);
  llvm::Value* outside =
      line_outside(load.dtype(), load->operands.back(), loop_->extents[axis] + point.lanes);
  if (outside == nullptr) return nullptr;
  Point start = point;
  const AxisPosition along = std::exchange(start.at[axis], {.lanes = true});
  const Shape strides = strides_of(load);
  Linear first;
  for (size_t d = 0; d < strides.size(); ++d) {
    add(first, *linear_in_lanes(load->operands[d], start, nullptr), strides[d]);
  }
  llvm::Value* from = ir_.CreateSelect(access.mask, pointer(access.id, first), outside);
  if (along.base != nullptr) from = element(access.id, from, along.base);
  from = element(access.id, from, along.offset);
  return read(access.id, from, point.lanes, tail_mask(point));
}

}  // namespace aoe
