#include "codegen/emit/point_emitter.h"

#include <llvm/IR/Module.h>

#include <cassert>

#include "device/machine_model.h"
#include "expr/rewrite.h"

// Emits expressions at a Point, a vector of `lanes` neighbouring points of a loop. In reading
// order:
//   linear, linear_in_lanes   an index as variable + constant + lane * lane_stride
//   value, emit               expressions, each node once for a point
//   access_of, load           where a load reads, and which lanes may read
//   loaded, gathered          the instruction for it
//   strided, picked, read_interleaved, transposed    vectors of elements that are not contiguous
//   store
// Lines of memory that several points share are in point_lines.cpp.
//
// By the distance between lanes a load becomes:
//
//   stride 0        a scalar load; users broadcast it
//   stride 1        a vector load, masked at the end of the axis
//   stride 2 to 4   vector loads of all that lies between, picked apart by shuffles
//   other           a gather; also where lanes have separate masks or computed offsets
//
// Gathers are the last resort: x86 cores issue a separate load for each of their lanes.
//
// Invariants: a value that is the same in all lanes is a scalar, never a splat; it is widened where
// an instruction needs a vector. A null mask means "all lanes", a null guard "always wanted".
// Memory is read only where it exists: under a mask, or at an address replaced by a valid one.

namespace aoe {

PointEmitter::PointEmitter(FunctionBuilder& function, Elements& elements, const Nest& nest,
                           const Device& device, std::vector<llvm::Value*> bases)
    : function_(function),
      ir_(function.ir()),
      elements_(elements),
      nest_(nest),
      device_(device),
      bases_(std::move(bases)) {}

// Cached by rank too: loops of one nest share expressions, but not the number of axes.
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
    // Unrolled axes are constants here, which may leave a linear form: `tap mod step` in a copied
    // window, for a known tap. Tried last, since it rewrites the expression for every point.
    std::vector<Expr> axes;
    for (size_t i = 0; i < point.at.size(); ++i) {
      const AxisPosition& at = point.at[i];
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
    const AxisPosition& at = point.at[i];
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
  // Not linear, but the same for all lanes: emitted as a scalar. Not if it loads: under a guard
  // that differs between lanes a load is a vector.
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
    // A linear offset does not tell lines apart: every element counts as one.
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

llvm::Value* PointEmitter::position(const AxisPosition& axis, int lanes) {
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

llvm::Value* PointEmitter::mask_and(llvm::Value* a, llvm::Value* b) {
  if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
  return elements_.binary(ExprOp::bit_and, DType::boolean, a, b);
}

llvm::Value* PointEmitter::plus(llvm::Value* a, llvm::Value* b, bool no_wrap) {
  if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
  return ir_.CreateAdd(a, b, "", false, no_wrap);
}

// The guard is part of the key: under another guard a load reads other lanes.
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
    return e->op == ExprOp::load && !e->linear && !has_out_of_range_value(e);
  };
  std::vector<llvm::Value*> operands;
  for (const Expr& operand : expr->operands) {
    llvm::Value* operand_guard = guard;
    // Both sides of a select are evaluated, but only the chosen one has to be in bounds: its loads
    // are guarded by the condition. Sides without checked loads stay unguarded, and shareable.
    const bool is_side = expr->op == ExprOp::select && !operands.empty();
    if (is_side && any_node(operand, may_fail)) {
      operand_guard =
          mask_and(guard, operands.size() == 1 ? operands[0] : ir_.CreateNot(operands[0]));
    }
    operands.push_back(value(operand, point, operand_guard));
  }
  return elements_.applied(expr, operands, point.wide);
}

// Sets the failure slot where a wanted lane is out of range. A flag in memory, not a branch: code
// stays one basic block, and the caller looks at it once, at the end.
void PointEmitter::check(llvm::Value* inside, llvm::Value* wanted, Point& point) {
  if (failure_ == nullptr) failure_ = function_.slot(ir_.getInt1Ty(), ir_.getFalse());
  llvm::Value* bad = mask_and(ir_.CreateNot(inside), wanted);
  if (lanes_of(bad) > 1) bad = ir_.CreateOrReduce(mask_and(bad, tail_mask(point)));
  llvm::Value* before = ir_.CreateLoad(ir_.getInt1Ty(), failure_);
  ir_.CreateStore(ir_.CreateOr(before, bad), failure_);
}

PointEmitter::Access PointEmitter::access_of(const Expr& load, size_t dims, Point& point,
                                             llvm::Value* guard) {
  Access result{.id = static_cast<size_t>(load->id), .at = Linear{}};
  const Shape& shape = nest_.buffers[result.id].shape;
  const Shape strides = strides_of(load);
  // One pass collects both: a bounds check for each dimension whose range is not known to be
  // inside, and the linear offset, as long as every dimension has one.
  llvm::Value* inside = nullptr;
  for (size_t d = 0; d < dims; ++d) {
    const Expr& index = load->operands[d];
    const auto range = interval_of(index, loop_->extents);
    if (!load->linear && (!range || !range->within({0, shape[d] - 1}))) {
      // One unsigned comparison: negative positions are large.
      llvm::Value* here = value(index, point, guard);
      inside = mask_and(inside,
                        elements_.binary(ExprOp::lt, DType::u64, here, function_.index(shape[d])));
    }
    const auto part = result.at ? linear_in_lanes(index, point, guard) : std::nullopt;
    if (part) add(*result.at, *part, strides[d]);
    else result.at.reset();
  }
  if (has_out_of_range_value(load)) result.outside = value(load->operands.back(), point, guard);
  if (inside != nullptr && result.outside == nullptr) check(inside, guard, point);
  if (!load->linear) result.mask = mask_and(inside, guard);
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

llvm::Value* PointEmitter::select_or(llvm::Value* mask, llvm::Value* value, llvm::Value* outside) {
  if (mask == nullptr) return value;
  if (outside == nullptr) outside = llvm::Constant::getNullValue(value->getType());
  return elements_.select(mask, value, outside);
}

// Loads from computed offsets: one for all lanes (a scalar load), or one for each (a gather).
llvm::Value* PointEmitter::gathered(Access access, llvm::Value* offsets, Point& point) {
  auto& [id, at, mask, outside] = access;
  const DType dtype = nest_.buffers[id].dtype;
  if (lanes_of(offsets) == 1 && (mask == nullptr || lanes_of(mask) == 1)) {
    llvm::Value* from = element(id, bases_[id], offsets);
    if (mask != nullptr) from = ir_.CreateSelect(mask, from, zeros(id, 1));
    // With alias information LLVM would hoist the load out of the loop and keep it in a register.
    // Where there are too many such values, the load goes without.
    return select_or(mask, keeps_shared_ ? read(id, from, 1) : elements_.load(dtype, from, 1),
                     outside);
  }
  mask = elements_.splat(mask_and(mask, tail_mask(point)), point.lanes);
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
  const bool deinterleaved = stride >= 1 && stride <= machine::kLargestDeinterleavedStride;
  if (deinterleaved && mask != nullptr && lanes_of(mask) == 1) {
    // One mask for all lanes: selecting the address, that of zeros if the mask is false, is cheaper
    // than a masked load. The zeros are replaced by `outside`.
    llvm::Value* from = ir_.CreateSelect(mask, pointer(id, *at), zeros(id, point.lanes * stride));
    return select_or(mask, strided(id, from, stride, point), outside);
  }
  if (stride == 1) {
    // Rows are followed by space for a vector, so that reading beyond their end needs no mask.
    if (!buffer.row) mask = mask_and(mask, tail_mask(point));
    mask = elements_.splat(mask, point.lanes);
    outside = elements_.splat(outside, point.lanes);
    return read(id, pointer(id, *at), point.lanes, mask, outside);
  }
  if (deinterleaved && mask == nullptr) return strided(id, pointer(id, *at), stride, point);
  llvm::Value* steps = ir_.CreateStepVector(with_lanes(ir_.getInt64Ty(), point.lanes));
  steps = ir_.CreateMul(steps, elements_.splat(function_.index(stride), point.lanes));
  steps = ir_.CreateAdd(steps, elements_.splat(function_.index(at->constant), point.lanes));
  return gathered(access, plus(steps, elements_.splat(at->variable, point.lanes)), point);
}

// Vector loads that cover the strided elements, without touching memory behind the last one. With
// stride 2 and 4 lanes, element 6 being the last that exists:
//
//   memory    0 1 2 3 4 5 6
//   part 0   [0 1 2 3]            lanes 0, 1 = elements 0, 2
//   part 1         [3 4 5 6]      lanes 2, 3 = elements 4, 6; starts early, to end with the last
llvm::Value* PointEmitter::strided(size_t id, llvm::Value* from, int64_t stride,
                                   const Point& point) {
  if (stride == 1) return read(id, from, point.lanes, tail_mask(point));
  const int lanes = point.lanes;
  const int64_t covered = (point.valid - 1) * stride + 1;
  llvm::Value* result = nullptr;
  int done = 0;
  while (done < point.valid) {
    // From the next missing element on, or earlier, so that the vector ends with the last element.
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

// Lane i is element i * step + rest of the concatenated vectors. One two-operand shuffle for each
// vector: lanes found so far stay, those of this vector come in.
llvm::Value* PointEmitter::deinterleaved(int64_t step, int64_t rest, int64_t vectors, int lanes,
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

// Whether load i reads the element after that of load i - 1, with all else equal: the channels of
// one pixel, for example.
bool PointEmitter::are_interleaved(const std::vector<Expr>& loads) {
  const Expr& first = loads[0];
  const auto last = static_cast<size_t>(first->rank) - 1;
  for (size_t i = 0; i < loads.size(); ++i) {
    const Expr& load = loads[i];
    if (load->op != ExprOp::load || load->id != first->id || load->linear != first->linear ||
        load->operands.size() != first->operands.size()) {
      return false;
    }
    // Loads without an out-of-range value would each need a bounds check.
    if (!load->linear && !has_out_of_range_value(load)) return false;
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
  if (access.mask != nullptr && lanes_of(access.mask) > 1) return;
  llvm::Value* from = pointer(access.id, *access.at);
  const int64_t wanted = int64_t{point.valid} * n;
  if (access.mask) from = ir_.CreateSelect(access.mask, from, zeros(access.id, wanted));
  std::vector<llvm::Value*> whole;
  for (int64_t start = 0; start < wanted; start += point.lanes) {
    whole.push_back(read(access.id, element(access.id, from, start), point.lanes,
                         first_lanes(wanted - start, point.lanes)));
  }
  for (int k = 0; k < n; ++k) {
    llvm::Value* elements = deinterleaved(n, k, static_cast<int64_t>(whole.size()), point.lanes,
                                          [&](int64_t v) { return whole[static_cast<size_t>(v)]; });
    point.known[{&*loads[static_cast<size_t>(k)], nullptr}] =
        select_or(access.mask, elements, access.outside);
  }
}

void PointEmitter::fetch_ahead(const Expr& load, Point& point, int64_t elements) {
  const auto id = static_cast<size_t>(load->id);
  function_.prefetch(element(id, pointer(id, *linear(load->operands[0], point)), elements));
}

// Returns the number of rows of a matrix if the load reads contiguous matrices of which two fit
// into half of the second-level cache, so that the next one can be prefetched while this one is
// read; else 0.
int64_t PointEmitter::rows_of_near_matrix(const Expr& load) {
  const auto vector_axis = static_cast<size_t>(loop_->policy.vector_axis);
  const size_t outer = nest_.outer.size();
  const int64_t rows = loop_->extents[vector_axis];
  int64_t row = loop_->extents[static_cast<size_t>(loop_->policy.block_axis)];
  // A row may be divided into blocks that are outer points.
  if (outer > 0 && stride_along(load, outer - 1) == row) row *= loop_->extents[outer - 1];
  const bool near = stride_along(load, vector_axis) == row &&
                    row * rows * info(load.dtype()).bytes <= device_.caches[1].bytes / 4;
  return near ? rows : 0;
}

// Returns the address from which to prefetch the next matrix. Hardware prefetchers follow
// contiguous reads, but hardly those of a transposition. The next matrix is therefore prefetched in
// memory order, independent of the order in which this one is read: each block prefetches as many
// elements as it reads. Counted along columns of blocks, `lanes` wide, the block at row `down` and
// column `across` comes after across * rows + down * lanes elements, so that it prefetches from
//
//   start of this matrix + rows * row + across * rows + down * lanes       (in elements)
//
// where a row has `row` elements. `top` = start + across is the element of the column in row 0.
llvm::Value* PointEmitter::next_matrix(const Expr& load, Point point, int64_t rows) {
  const auto vector_axis = static_cast<size_t>(loop_->policy.vector_axis);
  const int64_t row = *stride_along(load, vector_axis);
  const AxisPosition along = std::exchange(point.at[vector_axis], {});
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
  // Prefetches meanwhile: the next one of several small matrices, or, in a large one, the rows that
  // lie 64 further down.
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
  // Transposes lanes x lanes in log2(lanes) rounds: round `width` exchanges, in each pair of rows
  // that are `width` apart, the upper right and the lower left of their width x width squares.
  //
  //   a0 a1 a2 a3         a0 b0 a2 b2         a0 b0 c0 d0
  //   b0 b1 b2 b3    1    a1 b1 a3 b3    2    a1 b1 c1 d1
  //   c0 c1 c2 c3   -->   c0 d0 c2 d2   -->   a2 b2 c2 d2
  //   d0 d1 d2 d3         c1 d1 c3 d3         a3 b3 c3 d3
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

// Strided stores go lane by lane: AVX2 has no scatter, and AVX-512's stores lane by lane, too.
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
