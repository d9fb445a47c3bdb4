#include "codegen/point_emitter.h"

#include <llvm/IR/Module.h>

#include <numeric>

#include "expr/rewrite.h"

namespace aoe {
namespace {

bool is_vector(llvm::Value* value) { return value->getType()->isVectorTy(); }

}  // namespace

PointEmitter::PointEmitter(FunctionBuilder& function, Elements& elements, const Nest& nest,
                           std::vector<llvm::Value*> bases)
    : function_(function),
      ir_(function.ir()),
      elements_(elements),
      nest_(nest),
      bases_(std::move(bases)) {}

const Affine* PointEmitter::affine(const Expr& index, size_t rank) {
  auto [entry, fresh] = affine_.try_emplace({&*index, rank});
  if (fresh) entry->second = affine_of(index, rank);
  return entry->second ? &*entry->second : nullptr;
}

std::optional<int64_t> PointEmitter::stride_along(const Expr& load, size_t axis,
                                                  const Shape& extents) {
  if (!load->linear) return std::nullopt;
  const Affine* form = affine(load->operands[0], extents.size());
  if (form == nullptr) return std::nullopt;
  return form->coefficients[axis];
}

std::optional<PointEmitter::Linear> PointEmitter::linear(const Expr& index, Point& point) {
  const Affine* form = affine(index, point.at.size());
  std::optional<Affine> here;
  if (form == nullptr) {
    // What unrolling has made a number may turn the rest into a linear form.
    std::vector<Expr> axes;
    for (size_t i = 0; i < point.at.size(); ++i) {
      const AxisAt& at = point.at[i];
      const bool known = at.base == nullptr && !at.lanes;
      axes.push_back(known ? Expr::integer(DType::i64, at.offset)
                           : Expr::axis(static_cast<int64_t>(i)));
    }
    here = affine_of(with_axes(index, axes), point.at.size());
    if (!here) return std::nullopt;
    form = &*here;
  }
  Linear result;
  result.constant = form->constant;
  for (size_t i = 0; i < point.at.size(); ++i) {
    const int64_t factor = form->coefficients[i];
    if (factor == 0) continue;
    const AxisAt& at = point.at[i];
    result.constant += factor * at.offset;
    if (at.lanes) result.lane_stride += factor;
    if (at.base == nullptr) continue;
    llvm::Value* term = ir_.CreateMul(at.base, function_.index(factor), "", false, true);
    result.variable =
        result.variable == nullptr ? term : ir_.CreateAdd(result.variable, term, "", false, true);
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
    llvm::Value* variable = a->variable == nullptr ? b->variable : a->variable;
    if (a->variable != nullptr && b->variable != nullptr) {
      variable = ir_.CreateAdd(a->variable, b->variable);
    }
    return Linear{variable, a->constant + b->constant, a->lane_stride + b->lane_stride};
  }
  bool differs = any_node(index, [](const Expr& e) { return e->op == ExprOp::load; });
  for (size_t axis = 0; axis < point.at.size(); ++axis) {
    differs =
        differs || (point.at[axis].lanes && depends_on_axis(index, static_cast<int64_t>(axis)));
  }
  if (differs) return std::nullopt;
  return Linear{.variable = value(index, point, guard)};
}

std::optional<PointEmitter::Place> PointEmitter::known_place(const Expr& load, Point& point) {
  const Shape& shape = nest_.buffers[static_cast<size_t>(load->id)].shape;
  const Shape strides = load->linear ? Shape{1} : row_major_strides(shape);
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

llvm::Value* PointEmitter::pointer(const NestBuffer& buffer, size_t id, const Linear& at) {
  const int64_t bytes = info(buffer.dtype).bytes;
  llvm::Value* base = bases_[id];
  if (at.variable != nullptr) base = function_.element(base, at.variable, bytes);
  return function_.element(base, at.constant, bytes);
}

llvm::Value* PointEmitter::position(const AxisAt& axis, int lanes) {
  llvm::Value* scalar = function_.index(axis.offset);
  if (axis.base != nullptr) scalar = ir_.CreateAdd(axis.base, scalar, "", false, true);
  if (!axis.lanes || lanes == 1) return scalar;
  std::vector<llvm::Constant*> steps;
  for (int i = 0; i < lanes; ++i) steps.push_back(ir_.getInt64(static_cast<uint64_t>(i)));
  return ir_.CreateAdd(ir_.CreateVectorSplat(static_cast<unsigned>(lanes), scalar),
                       llvm::ConstantVector::get(steps), "", false, true);
}

llvm::Value* PointEmitter::first_lanes(int count, int lanes) {
  std::vector<llvm::Constant*> bits;
  for (int i = 0; i < lanes; ++i) bits.push_back(ir_.getInt1(i < count));
  return llvm::ConstantVector::get(bits);
}

llvm::Value* PointEmitter::tail_mask(const Point& point) {
  return point.valid == point.lanes ? nullptr : first_lanes(point.valid, point.lanes);
}

llvm::Value* PointEmitter::both(llvm::Value* a, llvm::Value* b) {
  if (a == nullptr) return b;
  if (b == nullptr) return a;
  if (is_vector(a) != is_vector(b)) {
    llvm::Value*& scalar = is_vector(a) ? b : a;
    const auto* type = llvm::cast<llvm::FixedVectorType>((is_vector(a) ? a : b)->getType());
    scalar = elements_.splat(scalar, static_cast<int>(type->getNumElements()));
  }
  return ir_.CreateAnd(a, b);
}

llvm::Value* PointEmitter::value(const Expr& expr, Point& point, llvm::Value* guard) {
  const auto key = std::pair{&*expr, guard};
  const auto found = point.known.find(key);
  if (found != point.known.end()) return found->second;
  llvm::Value* result = emit(expr, point, guard);
  point.known[key] = result;
  return result;
}

llvm::Value* PointEmitter::emit(const Expr& expr, Point& point, llvm::Value* guard) {
  switch (expr->op) {
    case ExprOp::constant: return elements_.constant(expr, 1);
    case ExprOp::axis: return position(point.at[static_cast<size_t>(expr->id)], point.lanes);
    case ExprOp::arg: return point.args[static_cast<size_t>(expr->id)];
    case ExprOp::load: return load(expr, point, guard);
    default: break;
  }
  std::vector<llvm::Value*> operands;
  for (const Expr& operand : expr->operands) {
    llvm::Value* own = guard;
    // Only the chosen side's loads need be in bounds.
    const bool is_side = expr->op == ExprOp::select && !operands.empty();
    if (is_side && any_node(operand, [](const Expr& e) {
          return e->op == ExprOp::load && !e->linear && !has_outside(e);
        })) {
      own = both(guard, operands.size() == 1 ? operands[0] : ir_.CreateNot(operands[0]));
    }
    operands.push_back(value(operand, point, own));
  }
  return elements_.applied(expr, operands, point.wide);
}

// Sets the failure slot where something wanted is outside.
void PointEmitter::check(llvm::Value* inside, llvm::Value* wanted, Point& point) {
  if (failure_ == nullptr) failure_ = function_.slot(ir_.getInt1Ty());
  llvm::Value* bad = both(ir_.CreateNot(inside), wanted);
  if (is_vector(bad)) {
    bad = both(bad, tail_mask(point));
    bad = ir_.CreateOrReduce(bad);
  }
  llvm::Value* before = ir_.CreateLoad(ir_.getInt1Ty(), failure_);
  ir_.CreateStore(ir_.CreateOr(before, bad), failure_);
}

// Looks at the first `dims` dimensions only.
PointEmitter::Access PointEmitter::access_of(const Expr& load, size_t dims, Point& point,
                                             llvm::Value* guard) {
  const NestBuffer& buffer = nest_.buffers[static_cast<size_t>(load->id)];
  const Shape shape = load->linear ? Shape{element_count(buffer.shape)} : buffer.shape;
  const Shape strides = row_major_strides(shape);

  // Both forms at once: positions where they must be looked at, the linear offset where there is
  // one.
  llvm::Value* inside = nullptr;
  Access result;
  std::optional<Linear>& at = result.at;
  at = Linear{};
  for (size_t d = 0; d < dims; ++d) {
    const Expr& index = load->operands[d];
    const auto range = interval_of(index, *extents_);
    if (!load->linear && (!range || !range->within({0, shape[d] - 1}))) {
      llvm::Value* here = value(index, point, guard);
      llvm::Value* limit = function_.index(shape[d]);
      if (is_vector(here)) limit = elements_.splat(limit, point.lanes);
      inside = both(inside, ir_.CreateICmpULT(here, limit));
    }
    const auto part = at ? linear_in_lanes(index, point, guard) : std::nullopt;
    if (part) {
      at->constant += part->constant * strides[d];
      at->lane_stride += part->lane_stride * strides[d];
      if (part->variable != nullptr) {
        llvm::Value* term =
            ir_.CreateMul(part->variable, function_.index(strides[d]), "", false, true);
        at->variable = at->variable == nullptr ? term : ir_.CreateAdd(at->variable, term);
      }
    } else {
      at.reset();
    }
  }
  if (has_outside(load)) result.outside = value(load->operands.back(), point, guard);
  if (inside != nullptr && result.outside == nullptr) check(inside, guard, point);
  if (!load->linear) result.mask = both(inside, guard);
  return result;
}

llvm::Value* PointEmitter::load(const Expr& load, Point& point, llvm::Value* guard) {
  const auto id = static_cast<size_t>(load->id);
  const NestBuffer& buffer = nest_.buffers[id];
  if (lines_ && guard == nullptr) {
    if (llvm::Value* value = from_line(load, point)) return value;
  }
  const auto dims = static_cast<size_t>(load->linear ? 1 : load->rank);
  const Access access = access_of(load, dims, point, guard);
  if (llvm::Value* value = from_line_outside(load, access, point)) return value;
  if (access.at) return loaded(buffer, id, *access.at, point, access.mask, access.outside);

  const Shape strides =
      row_major_strides(load->linear ? Shape{element_count(buffer.shape)} : buffer.shape);
  llvm::Value* offset = nullptr;
  for (size_t d = 0; d < strides.size(); ++d) {
    llvm::Value* here = value(load->operands[d], point, guard);
    llvm::Value* factor = function_.index(strides[d]);
    if (is_vector(here)) factor = elements_.splat(factor, point.lanes);
    llvm::Value* term = ir_.CreateMul(here, factor);
    if (offset != nullptr && is_vector(offset) != is_vector(term)) {
      offset = elements_.splat(offset, point.lanes);
      term = elements_.splat(term, point.lanes);
    }
    offset = offset == nullptr ? term : ir_.CreateAdd(offset, term);
  }
  return gathered(buffer, id, offset, point, access.mask, access.outside);
}

// The value where the mask holds, else what stands for the outside, or nothing in particular.
llvm::Value* PointEmitter::instead(llvm::Value* mask, llvm::Value* value, llvm::Value* outside) {
  llvm::Value* otherwise =
      outside != nullptr ? outside : llvm::Constant::getNullValue(value->getType());
  if (is_vector(value)) {
    const auto* type = llvm::cast<llvm::FixedVectorType>(value->getType());
    otherwise = elements_.splat(otherwise, static_cast<int>(type->getNumElements()));
  }
  return elements_.select(mask, value, otherwise);
}

// From offsets that were computed: one for all lanes, or one for each.
llvm::Value* PointEmitter::gathered(const NestBuffer& buffer, size_t id, llvm::Value* offsets,
                                    Point& point, llvm::Value* mask, llvm::Value* outside) {
  const bool same = !is_vector(offsets) && (mask == nullptr || !is_vector(mask));
  llvm::Value* result = nullptr;
  if (same) {
    llvm::Value* from = function_.element(bases_[id], offsets, info(buffer.dtype).bytes);
    if (mask != nullptr) {
      if (nowhere_ == nullptr) nowhere_ = function_.slot(ir_.getInt64Ty());
      from = ir_.CreateSelect(mask, from, nowhere_);
    }
    // A load that might see what the loop stores is not moved out of it.
    if (keeps_shared_) access(id, [&] { result = elements_.load(buffer.dtype, from, 1); });
    else result = elements_.load(buffer.dtype, from, 1);
    return mask == nullptr ? result : instead(mask, result, outside);
  }
  mask = both(mask, tail_mask(point));
  if (mask != nullptr) mask = elements_.splat(mask, point.lanes);
  if (outside != nullptr) outside = elements_.splat(outside, point.lanes);
  access(id, [&] {
    result = elements_.gather(buffer.dtype, bases_[id], elements_.splat(offsets, point.lanes), mask,
                              outside);
  });
  return result;
}

llvm::Value* PointEmitter::loaded(const NestBuffer& buffer, size_t id, const Linear& at,
                                  Point& point, llvm::Value* mask, llvm::Value* outside) {
  if (at.lane_stride == 0 || point.lanes == 1) {
    llvm::Value* offset = function_.index(at.constant);
    if (at.variable != nullptr) offset = ir_.CreateAdd(at.variable, offset, "", false, true);
    return gathered(buffer, id, offset, point, mask, outside);
  }
  llvm::Value* result = nullptr;
  const bool picked = at.lane_stride >= 1 && at.lane_stride <= kPickedStride;
  if (picked && mask != nullptr && !is_vector(mask) &&
      element_count(buffer.shape) > (point.lanes - 1) * at.lane_stride) {
    // All lanes or none: where none, the first elements are read instead, and not used.
    llvm::Value* from = ir_.CreateSelect(mask, pointer(buffer, id, at), bases_[id]);
    access(id, [&] {
      result = at.lane_stride == 1
                   ? elements_.load(buffer.dtype, from, point.lanes, tail_mask(point))
                   : strided(buffer, at, from, point);
    });
    return instead(mask, result, outside);
  }
  if (at.lane_stride == 1) {
    // Behind a row there is room for a vector.
    if (!buffer.row) mask = both(mask, tail_mask(point));
    if (mask != nullptr) mask = elements_.splat(mask, point.lanes);
    if (outside != nullptr) outside = elements_.splat(outside, point.lanes);
    llvm::Value* from = pointer(buffer, id, at);
    access(id, [&] { result = elements_.load(buffer.dtype, from, point.lanes, mask, outside); });
    return result;
  }
  if (picked && mask == nullptr) {
    llvm::Value* from = pointer(buffer, id, at);
    access(id, [&] { result = strided(buffer, at, from, point); });
    return result;
  }
  std::vector<llvm::Constant*> steps;
  for (int i = 0; i < point.lanes; ++i) {
    steps.push_back(ir_.getInt64(static_cast<uint64_t>(at.constant + i * at.lane_stride)));
  }
  llvm::Value* offsets = llvm::ConstantVector::get(steps);
  if (at.variable != nullptr) {
    offsets = ir_.CreateAdd(offsets, elements_.splat(at.variable, point.lanes));
  }
  return gathered(buffer, id, offsets, point, mask, outside);
}

// Whole vectors that cover the strided elements and not one more, picked apart.
llvm::Value* PointEmitter::strided(const NestBuffer& buffer, const Linear& at, llvm::Value* pointer,
                                   const Point& point) {
  const int64_t stride = at.lane_stride;
  const int64_t bytes = info(buffer.dtype).bytes;
  const int lanes = point.lanes;
  const int64_t covered = (point.valid - 1) * stride + 1;
  llvm::Value* result = nullptr;
  int done = 0;
  while (done < point.valid) {
    // The vector starts at the next element, or ends with the last one.
    const int64_t start = std::max<int64_t>(0, std::min(done * stride, covered - lanes));
    llvm::Value* part =
        elements_.load(buffer.dtype, function_.element(pointer, start, bytes), lanes,
                       covered < lanes ? first_lanes(static_cast<int>(covered), lanes) : nullptr);
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

bool PointEmitter::are_interleaved(const std::vector<Expr>& loads, const Point& point) {
  const Expr& first = loads[0];
  const size_t rank = point.at.size();
  const auto last = static_cast<size_t>(first->linear ? 0 : first->rank - 1);
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
      const Affine* form = affine(load->operands[d], rank);
      const Affine* other = affine(first->operands[d], rank);
      if (form == nullptr || other == nullptr || form->coefficients != other->coefficients ||
          form->constant != other->constant + (d == last ? static_cast<int64_t>(i) : 0)) {
        return false;
      }
    }
    if (load->linear) continue;
    const int64_t extent = nest_.buffers[static_cast<size_t>(load->id)].shape[last];
    const auto range = interval_of(load->operands[last], *extents_);
    if (!range || !range->within({0, extent - 1})) return false;
  }
  return true;
}

std::optional<std::vector<llvm::Value*>> PointEmitter::interleaved(const std::vector<Expr>& loads,
                                                                   Point& point,
                                                                   const Shape& extents) {
  extents_ = &extents;
  if (loads.size() < 2 || loads[0]->op != ExprOp::load || !are_interleaved(loads, point)) {
    return std::nullopt;
  }
  const auto n = static_cast<int>(loads.size());
  const auto id = static_cast<size_t>(loads[0]->id);
  const NestBuffer& buffer = nest_.buffers[id];
  const auto dims = static_cast<size_t>(loads[0]->linear ? 1 : loads[0]->rank);
  const Access access = access_of(loads[0], dims, point, nullptr);
  if (!access.at || access.at->lane_stride != n) return std::nullopt;
  llvm::Value* from = pointer(buffer, id, *access.at);
  if (access.mask != nullptr) {
    if (is_vector(access.mask) || element_count(buffer.shape) < int64_t{point.valid} * n) {
      return std::nullopt;
    }
    from = ir_.CreateSelect(access.mask, from, bases_[id]);
  }
  std::vector<llvm::Value*> whole;
  for (int v = 0; v * point.lanes < point.valid * n; ++v) {
    const int wanted = std::min(point.lanes, point.valid * n - v * point.lanes);
    llvm::Value* part = function_.element(from, v * point.lanes, info(buffer.dtype).bytes);
    llvm::Value* mask = wanted < point.lanes ? first_lanes(wanted, point.lanes) : nullptr;
    this->access(id,
                 [&] { whole.push_back(elements_.load(buffer.dtype, part, point.lanes, mask)); });
  }
  std::vector<llvm::Value*> result;
  for (int k = 0; k < n; ++k) {
    llvm::Value* picked = whole[0];
    for (size_t v = 0; v < whole.size(); ++v) {
      std::vector<int> order(static_cast<size_t>(point.lanes));
      for (int i = 0; i < point.lanes; ++i) {
        const int here = i * n + k - static_cast<int>(v) * point.lanes;
        order[static_cast<size_t>(i)] = here >= 0 && here < point.lanes ? point.lanes + here : i;
      }
      picked = ir_.CreateShuffleVector(picked, whole[v], order);
    }
    result.push_back(access.mask == nullptr ? picked
                                            : instead(access.mask, picked, access.outside));
  }
  return result;
}

void PointEmitter::fetch_ahead(const Expr& load, Point& point, int64_t elements) {
  const auto id = static_cast<size_t>(load->id);
  const NestBuffer& buffer = nest_.buffers[id];
  llvm::Value* from = pointer(buffer, id, *linear(load->operands[0], point));
  function_.prefetch(function_.element(from, elements, info(buffer.dtype).bytes));
}

// Processors follow memory that is read in a row by themselves, but not lines that lie apart, and
// hardly both at once. What the next matrix needs is therefore asked for in the order in which it
// lies there, however this one is read: as much for each block as the block has.
llvm::Value* PointEmitter::next_matrix(const Expr& load, Point point, size_t vector_axis,
                                       int64_t rows) {
  const auto id = static_cast<size_t>(load->id);
  const int64_t row = affine(load->operands[0], point.at.size())->coefficients[vector_axis];
  const auto sum = [&](const AxisAt& at) -> llvm::Value* {
    llvm::Value* offset = function_.index(at.offset);
    return at.base == nullptr ? offset : ir_.CreateAdd(at.base, offset);
  };
  llvm::Value* down = sum(std::exchange(point.at[vector_axis], {}));
  const Linear first = *linear(load->operands[0], point);
  llvm::Value* top = sum({.base = first.variable, .offset = first.constant});
  llvm::Value* across = ir_.CreateURem(top, function_.index(row));
  llvm::Value* next = ir_.CreateAdd(ir_.CreateSub(top, across), function_.index(rows * row));
  next = ir_.CreateAdd(next, ir_.CreateMul(across, function_.index(rows)));
  next = ir_.CreateAdd(next, ir_.CreateMul(down, function_.index(point.lanes)));
  return function_.element(bases_[id], next, info(nest_.buffers[id].dtype).bytes);
}

std::vector<llvm::Value*> PointEmitter::transposed(const Expr& load, Point point,
                                                   size_t vector_axis, size_t block_axis,
                                                   int64_t rows_of_matrix) {
  const auto id = static_cast<size_t>(load->id);
  const NestBuffer& buffer = nest_.buffers[id];
  const int lanes = point.lanes;
  const int64_t bytes = info(buffer.dtype).bytes;
  const int64_t first = point.at[vector_axis].offset;
  llvm::Value* next =
      rows_of_matrix == 0 ? nullptr : next_matrix(load, point, vector_axis, rows_of_matrix);
  point.at[vector_axis].lanes = false;
  point.at[block_axis].lanes = true;
  constexpr int64_t kRowsAhead = 64;
  const int64_t ahead =
      kRowsAhead * affine(load->operands[0], point.at.size())->coefficients[vector_axis];
  constexpr int64_t kLine = 64;
  std::vector<llvm::Value*> rows;
  for (int i = 0; i < lanes; ++i) {
    point.at[vector_axis].offset = first + i;
    const Linear at = *linear(load->operands[0], point);
    llvm::Value* from = pointer(buffer, id, at);
    access(id, [&] { rows.push_back(elements_.load(buffer.dtype, from, lanes)); });
    if (next == nullptr) {
      function_.prefetch(function_.element(from, ahead, bytes));
    } else if (i * lanes * bytes % kLine == 0) {
      function_.prefetch(function_.element(next, i * lanes, bytes));
    }
  }
  for (int width = 1; width < lanes; width *= 2) {
    std::vector<int> low(static_cast<size_t>(lanes));
    std::vector<int> high(static_cast<size_t>(lanes));
    for (int i = 0; i < lanes; ++i) {
      const bool odd = (i & width) != 0;
      low[static_cast<size_t>(i)] = odd ? lanes + i - width : i;
      high[static_cast<size_t>(i)] = odd ? lanes + i : i + width;
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
  const NestBuffer& buffer = nest_.buffers[id];
  const auto at = linear(store.offset, point);
  assert(at);
  llvm::Value* to = pointer(buffer, id, *at);
  if (point.lanes == 1 || at->lane_stride == 0) {
    access(id, [&] { elements_.store(buffer.dtype, value, to); });
    return;
  }
  value = elements_.splat(value, point.lanes);
  if (at->lane_stride == 1) {
    access(id, [&] {
      const bool whole = point.valid == point.lanes;
      elements_.store(buffer.dtype, value, to, tail_mask(point), streaming && whole);
    });
    return;
  }
  for (int i = 0; i < point.valid; ++i) {
    llvm::Value* lane = ir_.CreateExtractElement(value, static_cast<uint64_t>(i));
    llvm::Value* there = function_.element(to, i * at->lane_stride, info(buffer.dtype).bytes);
    access(id, [&] { elements_.store(buffer.dtype, lane, there); });
  }
}

}  // namespace aoe
