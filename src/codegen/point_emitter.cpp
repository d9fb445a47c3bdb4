#include "codegen/point_emitter.h"

#include <llvm/IR/Module.h>

#include <cassert>

#include "expr/rewrite.h"

namespace aoe {

PointEmitter::PointEmitter(FunctionBuilder& function, Elements& elements, const Nest& nest,
                           const Device& device, std::vector<llvm::Value*> bases)
    : function_(function),
      ir_(function.ir()),
      elements_(elements),
      nest_(nest),
      device_(device),
      bases_(std::move(bases)) {}

const std::optional<Affine>& PointEmitter::affine(const Expr& index) {
  const size_t rank = loop_->extents.size();
  auto [entry, fresh] = affine_.try_emplace({&*index, rank});
  if (fresh) entry->second = affine_of(index, rank);
  return entry->second;
}

std::optional<int64_t> PointEmitter::stride_along(const Expr& expr, size_t axis) {
  if (!expr->linear) return std::nullopt;
  const std::optional<Affine>& form = affine(expr->operands[0]);
  return form ? std::optional(form->coefficients[axis]) : std::nullopt;
}

std::optional<PointEmitter::Linear> PointEmitter::linear(const Expr& index, const Point& point) {
  std::optional<Affine> form = affine(index);
  if (!form) {
    // What unrolling has made a number may turn the rest into a linear form.
    std::vector<Expr> axes;
    for (size_t i = 0; i < point.at.size(); ++i) {
      const AxisAt& at = point.at[i];
      const bool known = at.base == nullptr && !at.lanes;
      axes.push_back(known ? Expr::integer(DType::i64, at.offset)
                           : Expr::axis(static_cast<int64_t>(i)));
    }
    form = affine_of(with_axes(index, axes), point.at.size());
  }
  if (!form) return std::nullopt;
  Linear result{.constant = form->constant};
  for (size_t i = 0; i < point.at.size(); ++i) {
    const int64_t factor = form->coefficients[i];
    if (factor == 0) continue;
    const AxisAt& at = point.at[i];
    result.constant += factor * at.offset;
    if (at.lanes) result.lane_stride += factor;
    if (at.base == nullptr) continue;
    llvm::Value* term = ir_.CreateMul(at.base, function_.index(factor), "", false, true);
    result.variable = plus(result.variable, term, true);
  }
  return result;
}

std::optional<PointEmitter::Linear> PointEmitter::linear_in_lanes(const Expr& index, Point& point,
                                                                  llvm::Value* guard) {
  if (auto whole = linear(index, point)) return whole;
  if (index->op == ExprOp::add) {
    const auto a = linear_in_lanes(index->operands[0], point, guard);
    const auto b = a ? linear_in_lanes(index->operands[1], point, guard) : std::nullopt;
    if (!b) return std::nullopt;
    return Linear{plus(a->variable, b->variable), a->constant + b->constant,
                  a->lane_stride + b->lane_stride};
  }
  const auto differs = [&](const Expr& e) {
    return e->op == ExprOp::load ||
           (e->op == ExprOp::axis && point.at[static_cast<size_t>(e->id)].lanes);
  };
  if (any_node(index, differs)) return std::nullopt;
  return Linear{.variable = value(index, point, guard)};
}

void PointEmitter::add(Linear& sum, const Linear& part, int64_t factor) {
  sum.constant += part.constant * factor;
  sum.lane_stride += part.lane_stride * factor;
  if (part.variable == nullptr) return;
  sum.variable =
      plus(sum.variable, ir_.CreateMul(part.variable, function_.index(factor), "", false, true));
}

Shape PointEmitter::strides_of(const Expr& load) const {
  if (load->linear) return {1};
  return row_major_strides(nest_.buffers[static_cast<size_t>(load->id)].shape);
}

std::optional<PointEmitter::Place> PointEmitter::known_place(const Expr& load, Point& point) {
  const Shape strides = strides_of(load);
  Place place;
  for (size_t d = 0; d < strides.size(); ++d) {
    const auto at = linear(load->operands[d], point);
    if (!at) return std::nullopt;
    // Of a linear offset every element is a line of its own.
    (d + 1 < strides.size() || load->linear ? place.line : place.offset) +=
        at->constant * strides[d];
  }
  return place;
}

llvm::Value* PointEmitter::pointer(size_t id, const Linear& at) {
  llvm::Value* base = bases_[id];
  if (at.variable != nullptr) base = element(id, base, at.variable);
  return element(id, base, at.constant);
}

llvm::Value* PointEmitter::read(size_t id, llvm::Value* from, int lanes, llvm::Value* mask,
                                llvm::Value* outside) {
  return function_.accessing(nest_.memory_of(id), [&] {
    return elements_.load(nest_.buffers[id].dtype, from, lanes, mask, outside);
  });
}

void PointEmitter::write(size_t id, llvm::Value* value, llvm::Value* to, llvm::Value* mask,
                         bool streaming) {
  function_.accessing(nest_.memory_of(id), [&] {
    return elements_.store(nest_.buffers[id].dtype, value, to, mask, streaming);
  });
}

llvm::Value* PointEmitter::position(const AxisAt& axis, int lanes) {
  llvm::Value* scalar = plus(axis.base, function_.index(axis.offset), true);
  if (!axis.lanes || lanes == 1) return scalar;
  return ir_.CreateAdd(elements_.splat(scalar, lanes),
                       ir_.CreateStepVector(with_lanes(ir_.getInt64Ty(), lanes)), "", false, true);
}

llvm::Value* PointEmitter::first_lanes(int64_t count, int lanes) {
  if (count >= lanes) return nullptr;
  return ir_.CreateICmpULT(ir_.CreateStepVector(with_lanes(ir_.getInt64Ty(), lanes)),
                           elements_.splat(function_.index(count), lanes));
}

llvm::Value* PointEmitter::both(llvm::Value* a, llvm::Value* b) {
  if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
  return elements_.binary(ExprOp::bit_and, DType::boolean, a, b);
}

llvm::Value* PointEmitter::plus(llvm::Value* a, llvm::Value* b, bool no_wrap) {
  if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
  return ir_.CreateAdd(a, b, "", false, no_wrap);
}

llvm::Value* PointEmitter::value(const Expr& expr, Point& point, llvm::Value* guard) {
  llvm::Value*& known = point.known[{&*expr, guard}];
  if (known == nullptr) known = emit(expr, point, guard);
  return known;
}

llvm::Value* PointEmitter::emit(const Expr& expr, Point& point, llvm::Value* guard) {
  switch (expr->op) {
    case ExprOp::constant: return elements_.constant(expr, 1);
    case ExprOp::axis: return position(point.at[static_cast<size_t>(expr->id)], point.lanes);
    case ExprOp::arg: return point.args[static_cast<size_t>(expr->id)];
    case ExprOp::load: return load(expr, point, guard);
    default: break;
  }
  const auto may_fail = [](const Expr& e) {
    return e->op == ExprOp::load && !e->linear && !has_outside(e);
  };
  std::vector<llvm::Value*> operands;
  for (const Expr& operand : expr->operands) {
    llvm::Value* own = guard;
    // Only the chosen side's loads need be in bounds.
    const bool is_side = expr->op == ExprOp::select && !operands.empty();
    if (is_side && any_node(operand, may_fail)) {
      own = both(guard, operands.size() == 1 ? operands[0] : ir_.CreateNot(operands[0]));
    }
    operands.push_back(value(operand, point, own));
  }
  return elements_.applied(expr, operands, point.wide);
}

// Sets the failure slot where something wanted is outside.
void PointEmitter::check(llvm::Value* inside, llvm::Value* wanted, Point& point) {
  if (failure_ == nullptr) failure_ = function_.slot(ir_.getInt1Ty(), ir_.getFalse());
  llvm::Value* bad = both(ir_.CreateNot(inside), wanted);
  if (lanes_of(bad) > 1) bad = ir_.CreateOrReduce(both(bad, tail_mask(point)));
  llvm::Value* before = ir_.CreateLoad(ir_.getInt1Ty(), failure_);
  ir_.CreateStore(ir_.CreateOr(before, bad), failure_);
}

PointEmitter::Access PointEmitter::access_of(const Expr& load, size_t dims, Point& point,
                                             llvm::Value* guard) {
  Access result{.id = static_cast<size_t>(load->id), .at = Linear{}};
  const Shape& shape = nest_.buffers[result.id].shape;
  const Shape strides = strides_of(load);
  // Both forms at once: positions where they must be looked at, the linear offset where there is
  // one.
  llvm::Value* inside = nullptr;
  for (size_t d = 0; d < dims; ++d) {
    const Expr& index = load->operands[d];
    const auto range = interval_of(index, loop_->extents);
    if (!load->linear && (!range || !range->within({0, shape[d] - 1}))) {
      llvm::Value* here = value(index, point, guard);
      inside =
          both(inside, elements_.binary(ExprOp::lt, DType::u64, here, function_.index(shape[d])));
    }
    const auto part = result.at ? linear_in_lanes(index, point, guard) : std::nullopt;
    if (part) add(*result.at, *part, strides[d]);
    else result.at.reset();
  }
  if (has_outside(load)) result.outside = value(load->operands.back(), point, guard);
  if (inside != nullptr && result.outside == nullptr) check(inside, guard, point);
  if (!load->linear) result.mask = both(inside, guard);
  return result;
}

llvm::Value* PointEmitter::load(const Expr& load, Point& point, llvm::Value* guard) {
  if (lines_ && guard == nullptr) {
    if (llvm::Value* value = from_line(load, point)) return value;
  }
  const Access access = access_of(load, static_cast<size_t>(load->rank), point, guard);
  if (llvm::Value* value = from_line_outside(load, access, point)) return value;
  if (access.at) return loaded(access, point);
  const Shape strides = strides_of(load);
  llvm::Value* offset = nullptr;
  for (size_t d = 0; d < strides.size(); ++d) {
    llvm::Value* term =
        elements_.binary(ExprOp::mul, DType::i64, value(load->operands[d], point, guard),
                         function_.index(strides[d]));
    offset = d == 0 ? term : elements_.binary(ExprOp::add, DType::i64, offset, term);
  }
  return gathered(access, offset, point);
}

llvm::Value* PointEmitter::instead(llvm::Value* mask, llvm::Value* value, llvm::Value* outside) {
  if (mask == nullptr) return value;
  if (outside == nullptr) outside = llvm::Constant::getNullValue(value->getType());
  return elements_.select(mask, value, outside);
}

// From offsets that were computed: one for all lanes, or one for each.
llvm::Value* PointEmitter::gathered(Access access, llvm::Value* offsets, Point& point) {
  auto& [id, at, mask, outside] = access;
  const DType dtype = nest_.buffers[id].dtype;
  if (lanes_of(offsets) == 1 && (mask == nullptr || lanes_of(mask) == 1)) {
    llvm::Value* from = element(id, bases_[id], offsets);
    if (mask != nullptr) {
      if (nowhere_ == nullptr) nowhere_ = function_.slot(ir_.getInt64Ty());
      from = ir_.CreateSelect(mask, from, nowhere_);
    }
    // A load that might see what the loop stores is not moved out of it.
    return instead(mask, keeps_shared_ ? read(id, from, 1) : elements_.load(dtype, from, 1),
                   outside);
  }
  mask = elements_.splat(both(mask, tail_mask(point)), point.lanes);
  outside = elements_.splat(outside, point.lanes);
  return function_.accessing(nest_.memory_of(id), [&] {
    return elements_.gather(dtype, bases_[id], elements_.splat(offsets, point.lanes), mask,
                            outside);
  });
}

llvm::Value* PointEmitter::loaded(Access access, Point& point) {
  auto& [id, at, mask, outside] = access;
  const NestBuffer& buffer = nest_.buffers[id];
  const int64_t stride = at->lane_stride;
  if (stride == 0 || point.lanes == 1) {
    return gathered(access, plus(at->variable, function_.index(at->constant), true), point);
  }
  const bool picked = stride >= 1 && stride <= kPickedStride;
  if (picked && mask != nullptr && lanes_of(mask) == 1 &&
      element_count(buffer.shape) > (point.lanes - 1) * stride) {
    // All lanes or none: where none, the first elements are read instead, and not used.
    llvm::Value* from = ir_.CreateSelect(mask, pointer(id, *at), bases_[id]);
    return instead(mask, strided(id, from, stride, point), outside);
  }
  if (stride == 1) {
    // Behind a row there is room for a vector.
    if (!buffer.row) mask = both(mask, tail_mask(point));
    mask = elements_.splat(mask, point.lanes);
    outside = elements_.splat(outside, point.lanes);
    return read(id, pointer(id, *at), point.lanes, mask, outside);
  }
  if (picked && mask == nullptr) return strided(id, pointer(id, *at), stride, point);
  llvm::Value* steps = ir_.CreateStepVector(with_lanes(ir_.getInt64Ty(), point.lanes));
  steps = ir_.CreateMul(steps, elements_.splat(function_.index(stride), point.lanes));
  steps = ir_.CreateAdd(steps, elements_.splat(function_.index(at->constant), point.lanes));
  return gathered(access, plus(steps, elements_.splat(at->variable, point.lanes)), point);
}

// Whole vectors that cover the strided elements and not one more, picked apart.
llvm::Value* PointEmitter::strided(size_t id, llvm::Value* from, int64_t stride,
                                   const Point& point) {
  if (stride == 1) return read(id, from, point.lanes, tail_mask(point));
  const int lanes = point.lanes;
  const int64_t covered = (point.valid - 1) * stride + 1;
  llvm::Value* result = nullptr;
  int done = 0;
  while (done < point.valid) {
    // The vector starts at the next element, or ends with the last one.
    const int64_t start = std::max<int64_t>(0, std::min(done * stride, covered - lanes));
    llvm::Value* part = read(id, element(id, from, start), lanes, first_lanes(covered, lanes));
    std::vector<int> order(static_cast<size_t>(lanes));
    int next = done;
    for (int i = 0; i < lanes; ++i) {
      const int64_t here = i * stride - start;
      const bool from_part = i >= done && i < point.valid && here < lanes;
      if (from_part) next = i + 1;
      order[static_cast<size_t>(i)] = from_part ? static_cast<int>(lanes + here) : i;
    }
    if (result == nullptr) result = part;
    result = ir_.CreateShuffleVector(result, part, order);
    done = next;
  }
  return result;
}

llvm::Value* PointEmitter::picked(int64_t step, int64_t rest, int64_t vectors, int lanes,
                                  const std::function<llvm::Value*(int64_t)>& whole) {
  llvm::Value* result = nullptr;
  for (int64_t v = 0; v < vectors; ++v) {
    llvm::Value* vector = whole(v);
    std::vector<int> order;
    for (int i = 0; i < lanes; ++i) {
      const int64_t here = i * step + rest - v * lanes;
      order.push_back(here >= 0 && here < lanes ? lanes + static_cast<int>(here) : i);
    }
    result = ir_.CreateShuffleVector(result == nullptr ? vector : result, vector, order);
  }
  return result;
}

bool PointEmitter::are_interleaved(const std::vector<Expr>& loads) {
  const Expr& first = loads[0];
  const auto last = static_cast<size_t>(first->rank) - 1;
  for (size_t i = 0; i < loads.size(); ++i) {
    const Expr& load = loads[i];
    if (load->op != ExprOp::load || load->id != first->id || load->linear != first->linear ||
        load->operands.size() != first->operands.size()) {
      return false;
    }
    // A check of each would be another matter.
    if (!load->linear && !has_outside(load)) return false;
    for (size_t d = 0; d < load->operands.size(); ++d) {
      if (d > last) {
        if (&*load->operands[d] != &*first->operands[d]) return false;
        continue;
      }
      const std::optional<Affine>& form = affine(load->operands[d]);
      const std::optional<Affine>& other = affine(first->operands[d]);
      if (!form || !other || form->coefficients != other->coefficients ||
          form->constant != other->constant + (d == last ? static_cast<int64_t>(i) : 0)) {
        return false;
      }
    }
    if (load->linear) continue;
    const int64_t extent = nest_.buffers[static_cast<size_t>(load->id)].shape[last];
    const auto range = interval_of(load->operands[last], loop_->extents);
    if (!range || !range->within({0, extent - 1})) return false;
  }
  return true;
}

void PointEmitter::read_interleaved(const std::vector<Expr>& loads, Point& point) {
  if (loads.size() < 2 || !are_interleaved(loads)) return;
  const auto n = static_cast<int>(loads.size());
  const Access access = access_of(loads[0], static_cast<size_t>(loads[0]->rank), point, nullptr);
  if (!access.at || access.at->lane_stride != n) return;
  llvm::Value* from = pointer(access.id, *access.at);
  const int64_t wanted = int64_t{point.valid} * n;
  if (access.mask != nullptr) {
    if (lanes_of(access.mask) > 1 || element_count(nest_.buffers[access.id].shape) < wanted) return;
    from = ir_.CreateSelect(access.mask, from, bases_[access.id]);
  }
  std::vector<llvm::Value*> whole;
  for (int64_t start = 0; start < wanted; start += point.lanes) {
    whole.push_back(read(access.id, element(access.id, from, start), point.lanes,
                         first_lanes(wanted - start, point.lanes)));
  }
  for (int k = 0; k < n; ++k) {
    llvm::Value* own = picked(n, k, static_cast<int64_t>(whole.size()), point.lanes,
                              [&](int64_t v) { return whole[static_cast<size_t>(v)]; });
    point.known[{&*loads[static_cast<size_t>(k)], nullptr}] =
        instead(access.mask, own, access.outside);
  }
}

void PointEmitter::fetch_ahead(const Expr& load, Point& point, int64_t elements) {
  const auto id = static_cast<size_t>(load->id);
  function_.prefetch(element(id, pointer(id, *linear(load->operands[0], point)), elements));
}

// The rows of the matrix that a load runs through without gaps, of a size that the next one may
// wait beside it in the second-level cache; 0 if there is none.
int64_t PointEmitter::rows_of_near_matrix(const Expr& load) {
  const auto vector_axis = static_cast<size_t>(loop_->policy.vector_axis);
  const size_t outer = nest_.outer.size();
  const int64_t rows = loop_->extents[vector_axis];
  int64_t row = loop_->extents[static_cast<size_t>(loop_->policy.block_axis)];
  // Blocks of its rows may be outer points.
  if (outer > 0 && stride_along(load, outer - 1) == row) row *= loop_->extents[outer - 1];
  const bool near = stride_along(load, vector_axis) == row &&
                    row * rows * info(load.dtype()).bytes <= device_.caches[1].bytes / 4;
  return near ? rows : 0;
}

// Processors follow memory that is read in a row by themselves, but not lines that lie apart, and
// hardly both at once. What the next matrix needs is therefore asked for in the order in which it
// lies there, however this one is read: as much for each block as the block has.
llvm::Value* PointEmitter::next_matrix(const Expr& load, Point point, int64_t rows) {
  const auto vector_axis = static_cast<size_t>(loop_->policy.vector_axis);
  const int64_t row = *stride_along(load, vector_axis);
  const AxisAt along = std::exchange(point.at[vector_axis], {});
  llvm::Value* down = plus(along.base, function_.index(along.offset));
  const Linear first = *linear(load->operands[0], point);
  llvm::Value* top = plus(first.variable, function_.index(first.constant));
  llvm::Value* across = ir_.CreateURem(top, function_.index(row));
  llvm::Value* next = ir_.CreateAdd(ir_.CreateSub(top, across), function_.index(rows * row));
  next = ir_.CreateAdd(next, ir_.CreateMul(across, function_.index(rows)));
  next = ir_.CreateAdd(next, ir_.CreateMul(down, function_.index(point.lanes)));
  const auto id = static_cast<size_t>(load->id);
  return element(id, bases_[id], next);
}

std::vector<llvm::Value*> PointEmitter::transposed(const Expr& load, Point point) {
  const auto id = static_cast<size_t>(load->id);
  const auto vector_axis = static_cast<size_t>(loop_->policy.vector_axis);
  const int lanes = point.lanes;
  // Where that is a matrix, what follows it in memory is fetched meanwhile.
  const int64_t rows_of_matrix = rows_of_near_matrix(load);
  llvm::Value* next = rows_of_matrix == 0 ? nullptr : next_matrix(load, point, rows_of_matrix);
  point.at[vector_axis].lanes = false;
  point.at[static_cast<size_t>(loop_->policy.block_axis)].lanes = true;
  constexpr int64_t kRowsAhead = 64;
  const int64_t ahead = kRowsAhead * *stride_along(load, vector_axis);
  std::vector<llvm::Value*> rows;
  for (int i = 0; i < lanes; ++i, ++point.at[vector_axis].offset) {
    llvm::Value* from = pointer(id, *linear(load->operands[0], point));
    rows.push_back(read(id, from, lanes));
    if (next == nullptr) {
      function_.prefetch(element(id, from, ahead));
    } else if (i * lanes * info(load.dtype()).bytes % kCacheLine == 0) {
      function_.prefetch(element(id, next, i * lanes));
    }
  }
  for (int width = 1; width < lanes; width *= 2) {
    std::vector<int> low;
    std::vector<int> high;
    for (int i = 0; i < lanes; ++i) {
      const bool odd = (i & width) != 0;
      low.push_back(odd ? lanes + i - width : i);
      high.push_back(odd ? lanes + i : i + width);
    }
    for (int i = 0; i < lanes; ++i) {
      if ((i & width) != 0) continue;
      llvm::Value*& a = rows[static_cast<size_t>(i)];
      llvm::Value*& b = rows[static_cast<size_t>(i + width)];
      llvm::Value* lower = ir_.CreateShuffleVector(a, b, low);
      b = ir_.CreateShuffleVector(a, b, high);
      a = lower;
    }
  }
  return rows;
}

void PointEmitter::store(const NestStore& store, llvm::Value* value, Point& point, bool streaming) {
  const auto id = static_cast<size_t>(store.buffer);
  const auto at = linear(store.offset, point);
  assert(at);
  llvm::Value* to = pointer(id, *at);
  if (point.lanes == 1 || at->lane_stride == 0) return write(id, value, to);
  value = elements_.splat(value, point.lanes);
  if (at->lane_stride == 1) return write(id, value, to, tail_mask(point), streaming);
  for (int i = 0; i < point.valid; ++i) {
    llvm::Value* lane = ir_.CreateExtractElement(value, static_cast<uint64_t>(i));
    write(id, lane, element(id, to, i * at->lane_stride));
  }
}

}  // namespace aoe
