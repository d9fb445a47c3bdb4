#include <numeric>

#include "codegen/point_emitter.h"
#include "expr/rewrite.h"

// Lines of memory that are read whole, because several points want elements of them that lie a step
// apart.

namespace aoe {

// Elements at known places of a line, some of which may lie outside it: what lies a step apart is
// brought together once, then moved into place.
std::optional<PointEmitter::InLine> PointEmitter::in_line(const Expr& load, Point& point) {
  if (load->linear || load->rank < 2 || !has_outside(load) || point.lanes == 1) return std::nullopt;
  if (!load->operands.back().is_constant()) return std::nullopt;
  const auto last = static_cast<size_t>(load->rank) - 1;
  const auto at = linear(load->operands[last], point);
  // Without a step memory itself moves them into place.
  if (!at || at->variable != nullptr || at->lane_stride < 2 || at->lane_stride > kPickedStride) {
    return std::nullopt;
  }
  const Access access = access_of(load, last, point, nullptr);
  if (!access.at || access.at->lane_stride != 0 ||
      (access.mask != nullptr && access.mask->getType()->isVectorTy())) {
    return std::nullopt;
  }
  // By position, not by offset: one that lies outside may have the offset of one that does not.
  std::vector<int64_t> key{load->id};
  for (size_t d = 0; d < last; ++d) key.push_back(linear(load->operands[d], point)->constant);
  Line& line = (*lines_)[key];
  if (line.start == nullptr) {
    const auto id = static_cast<size_t>(load->id);
    line.start = pointer(nest_.buffers[id], id, *access.at);
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
  std::vector<int> order(static_cast<size_t>(point.lanes));
  std::iota(order.begin(), order.end(), static_cast<int>(shift));
  return ir_.CreateShuffleVector(low, part_of(*in, load, place + 1, point), order);
}

std::optional<int64_t> PointEmitter::place_in_line(const Expr& load, Point& point,
                                                   const Shape& extents) {
  extents_ = &extents;
  const auto in = in_line(load, point);
  return in ? std::optional(in->first) : std::nullopt;
}

llvm::Value* PointEmitter::part_of_line(const Expr& load, Point& point, int64_t place) {
  const auto in = in_line(load, point);
  const int64_t extent = nest_.buffers[static_cast<size_t>(load->id)].shape.back();
  if (place < 0 || place * point.lanes * in->step + in->rest >= extent) return nullptr;
  return part_of(*in, load, place, point);
}

// The line's elements from place x lanes on.
llvm::Value* PointEmitter::whole_of(Line& line, const Expr& load, int64_t place, Point& point) {
  llvm::Value*& value = line.whole[place];
  if (value != nullptr) return value;
  const auto id = static_cast<size_t>(load->id);
  const NestBuffer& buffer = nest_.buffers[id];
  const int64_t left = buffer.shape.back() - place * point.lanes;
  llvm::Value* outside =
      elements_.splat(this->value(load->operands.back(), point, nullptr), point.lanes);
  if (place < 0 || left <= 0) return value = outside;
  llvm::Value* mask = line.mask;
  if (left < point.lanes) mask = both(mask, first_lanes(static_cast<int>(left), point.lanes));
  if (mask != nullptr) mask = elements_.splat(mask, point.lanes);
  llvm::Value* from = function_.element(line.start, place * point.lanes, info(buffer.dtype).bytes);
  access(id, [&] {
    value = elements_.load(buffer.dtype, from, point.lanes, mask, mask ? outside : nullptr);
  });
  return value;
}

// Of every `step` elements the one at `rest`, from place x lanes such elements on.
llvm::Value* PointEmitter::part_of(const InLine& in, const Expr& load, int64_t place,
                                   Point& point) {
  const auto [line, step, rest, first] = in;
  llvm::Value*& value = line->parts[{rest, place}];
  if (value != nullptr) return value;
  const int lanes = point.lanes;
  for (int64_t v = 0; v < step; ++v) {
    llvm::Value* whole = whole_of(*line, load, place * step + v, point);
    if (value == nullptr) value = whole;
    std::vector<int> order(static_cast<size_t>(lanes));
    for (int i = 0; i < lanes; ++i) {
      const int64_t here = i * step + rest - v * lanes;
      order[static_cast<size_t>(i)] =
          here >= 0 && here < lanes ? lanes + static_cast<int>(here) : i;
    }
    value = ir_.CreateShuffleVector(value, whole, order);
  }
  return value;
}

}  // namespace aoe
