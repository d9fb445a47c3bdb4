#include "codegen/emit/loop_emitter.h"

#include <llvm/Analysis/VectorUtils.h>

#include <algorithm>

#include "codegen/emit/blocked_sums.h"
#include "device/machine_model.h"
#include "expr/rewrite.h"

// Emits the loops of one stage:
//   for every other output axis                      output_loops
//     for blocks of the block axis                   block_loops       (core_loops: which of these
//       for `unroll` vectors of the vector axis      vector_loops       two is the outer one)
//         identities                                 emit_body
//         for every reduced axis                     reduce: a loop, or unrolled
//           combine the elements of the body         accumulate
//         fold lanes, if the vector axis is reduced  fold_lanes
//         epilogue and stores                        results
//
// A body is the points that one pass over the reduction computes, each with a tuple of
// accumulators, one for each component of the reducer:
//
//                    vector axis: `unroll` vectors of `lanes`
//   block axis     | point 0,0 | point 0,1 | point 0,2 |    `valid_last` lanes of the last vector
//   (`block` rows) | point 1,0 | point 1,1 | point 1,2 |    of a row exist
//
// Two orders of a reduction are special: reduce_by_address, for windows whose neighbours read the
// same memory, and reduce_lanes, where vectors go along a reduced axis.
//
// Invariants: accumulators are SSA values that loops carry, never memory. `at_` says for each axis
// where the code that is being emitted is; every Point is derived from it.

namespace aoe {
namespace {

// Inner reductions of at most so many iterations are unrolled: 3 x 3 and 5 x 5 windows, whose
// positions are then constants. kUnrolledBodies limits their points and so the size of the code.
constexpr int64_t kUnrolledTaps = 32;
constexpr int64_t kUnrolledBodies = 400;

// Tuples of accumulators that a loop carries, one value for each component of the reducer.
using Carried = std::vector<llvm::Value*>;
using Tuple = std::span<llvm::Value*>;

class LoopEmitter {
 public:
  LoopEmitter(FunctionBuilder& function, Elements& elements, PointEmitter& points,
              const Device& device, const Loop& loop, const LoopContext& around)
      : function_(function),
        elements_(elements),
        points_(points),
        device_(device),
        loop_(loop),
        policy_(loop.policy),
        vector_axis_(static_cast<size_t>(loop.policy.vector_axis)),
        block_axis_(static_cast<size_t>(loop.policy.block_axis)),
        around_(around),
        at_(around.at) {}

  void emit() {
    at_.resize(loop_.extents.size());
    unrolled_from_ = unrolled_reductions();
    const Shape taps(loop_.extents.begin() + static_cast<int64_t>(unrolled_from_),
                     loop_.extents.end());
    // Values that are the same in all lanes (weights) take a register for each tap. They may have
    // half of the registers.
    keeps_shared_ = element_count(taps) <= device_.vector_registers / 2;
    points_.enter(loop_, keeps_shared_);
    far_apart_ = loop_.reducer && sums_far_apart();
    blocks_sums_ = loop_.reducer && rounds(*loop_.reducer) &&
                   additions(loop_.out_rank) > kAdditionsWithoutBlocks;
    output_loops(around_.at.size());
  }

 private:
  // The points that one pass over the reduction computes: blocks x vectors.
  struct Body {
    int blocks = 1;
    int vectors = 1;
    int valid_last = 1;  // lanes of the last vector
  };
  using Inside = std::function<void(const Body&)>;

  bool reduces_lanes() const { return policy_.vector_axis >= 0 && loop_.is_reduced(vector_axis_); }
  size_t components() const { return loop_.reducer ? loop_.reducer->size() : 0; }
  int lanes() const { return policy_.vector_axis < 0 ? 1 : policy_.lanes; }

  // The first reduced axis that is unrolled, with all after it.
  size_t unrolled_reductions() const {
    int64_t bodies = std::max(1, policy_.unroll * policy_.block);
    int64_t taps = 1;
    size_t first = loop_.extents.size();
    while (first > loop_.out_rank) {
      const int64_t extent = loop_.extents[first - 1];
      if (first - 1 == vector_axis_ || taps * extent > kUnrolledTaps ||
          taps * extent * bodies > kUnrolledBodies) {
        break;
      }
      taps *= extent;
      --first;
    }
    return first;
  }

  // Whether accesses along the vector axis touch more pages than the TLB covers.
  bool reads_far() {
    return std::any_of(loop_.results.begin(), loop_.results.end(), [&](const Expr& result) {
      return any_node(result, [&](const Expr& e) {
        const auto stride = points_.stride_along(e, vector_axis_);
        return stride &&
               *stride * loop_.extents[vector_axis_] * info(e.dtype()).bytes > machine::kTlbBytes;
      });
    });
  }

  // Whether consecutive steps of the sum are pages apart and all its elements exceed the
  // second-level cache. Hardware prefetchers stop at the end of a page, so each step prefetches
  // what follows in its own page.
  bool sums_far_apart() {
    constexpr int64_t kPage = 4096;
    const Expr& element = loop_.elements[0];
    if (element->op != ExprOp::load || policy_.vector_axis < 0 || reduces_lanes()) return false;
    const int64_t bytes = info(element.dtype()).bytes;
    const auto step = points_.stride_along(element, loop_.extents.size() - 1);
    return points_.stride_along(element, vector_axis_) == 1 && step && *step * bytes >= kPage &&
           element_count(loop_.extents) * bytes > device_.caches[1].bytes;
  }

  void output_loops(size_t axis) {
    if (axis == loop_.out_rank) return core_loops();
    if (axis == vector_axis_ || axis == block_axis_) return output_loops(axis + 1);
    const auto body = [&](llvm::Value* i) {
      at_[axis] = {.base = i};
      output_loops(axis + 1);
    };
    if (static_cast<int>(axis) == around_.ranged_axis) {
      function_.loop(around_.range[0], around_.range[1], 1, {}, body);
    } else {
      function_.loop(loop_.extents[axis], 1, {}, body);
    }
  }

  // By default blocks around vectors: a row of results is written front to back. If blocks are
  // transposed in registers, and accesses along the vector axis touch more pages than the TLB
  // covers, vectors around blocks: the same pages then serve all blocks.
  void core_loops() {
    const Inside inside = [&](const Body& body) { emit_body(body); };
    if (transposes() && reads_far()) {
      vector_loops({}, [&](const Body& body) { block_loops(body, inside); });
    } else {
      block_loops({}, [&](const Body& body) { vector_loops(body, inside); });
    }
  }

  bool transposes() const { return policy_.block == policy_.lanes && policy_.lanes > 1; }

  // The remainder is one smaller body; if bodies are squares to transpose, one row after the other.
  void block_loops(Body body, const Inside& inside) {
    if (policy_.block_axis < 0) return inside(body);
    const int64_t extent = loop_.extents[block_axis_];
    const int64_t whole = extent / policy_.block * policy_.block;
    const auto at_base = [&](llvm::Value* i) {
      at_[block_axis_] = {.base = i};
      inside(body);
    };
    body.blocks = policy_.block;
    function_.loop(whole, policy_.block, {}, at_base);
    if (whole == extent) return;
    if (transposes()) {
      body.blocks = 1;
      function_.loop(function_.index(whole), function_.index(extent), 1, {}, at_base);
    } else {
      body.blocks = static_cast<int>(extent - whole);
      at_[block_axis_] = {.offset = whole};
      inside(body);
    }
  }

  void vector_loops(const Body& body, const Inside& inside) {
    if (policy_.vector_axis < 0 || reduces_lanes()) return inside(body);
    each_vectors(body, loop_.extents[vector_axis_], {},
                 [&](llvm::Value* base, int64_t offset, const Body& vectors) {
                   at_[vector_axis_] = {.base = base, .offset = offset, .lanes = true};
                   inside(vectors);
                 });
  }

  // Covers an extent with vectors, `unroll` at a time. The remainder is one body of fewer vectors,
  // the last of which may be partial.
  template <typename Fn>
  void each_vectors(Body body, int64_t extent, Tuple carried, const Fn& fn) {
    const int64_t step = int64_t{policy_.unroll} * policy_.lanes;
    const int64_t whole = extent / step * step;
    body.vectors = policy_.unroll;
    body.valid_last = policy_.lanes;
    if (whole == step) {
      fn(nullptr, 0, body);
    } else {
      function_.loop(whole, step, carried, [&](llvm::Value* i) { fn(i, 0, body); });
    }
    if (whole == extent) return;
    body.vectors = static_cast<int>(ceil_div(extent - whole, policy_.lanes));
    body.valid_last = static_cast<int>(extent - whole) - (body.vectors - 1) * policy_.lanes;
    fn(nullptr, whole, body);
  }

  Point point_at(const Body& body, int block, int vector) const {
    Point point;
    point.at = at_;
    point.lanes = lanes();
    point.valid = vector == body.vectors - 1 ? body.valid_last : lanes();
    if (policy_.block_axis >= 0) point.at[block_axis_].offset += block;
    if (policy_.vector_axis >= 0) {
      point.at[vector_axis_].offset += int64_t{vector} * lanes();
    }
    return point;
  }

  Carried identities(int points) {
    Carried accumulators;
    for (int i = 0; i < points; ++i) {
      for (const Expr& identity : loop_.reducer->identity) {
        accumulators.push_back(elements_.constant(identity, lanes()));
      }
    }
    return accumulators;
  }

  Tuple tuple(Tuple accumulators, int which) const {
    return accumulators.subspan(static_cast<size_t>(which) * components(), components());
  }

  // Number of tuples of accumulators per block. If lanes are reduced, the remainder adds to those
  // of the main loop, of which there may be more.
  int pitch(const Body& body) const { return reduces_lanes() ? policy_.unroll : body.vectors; }

  void emit_body(const Body& body) {
    Carried accumulators;
    if (loop_.reducer) {
      accumulators = identities(body.blocks * pitch(body));
      if (element_count(reduce_extents()) > 0) reduce(loop_.out_rank, body, accumulators);
      if (reduces_lanes()) fold_lanes(accumulators, body.blocks);
    }
    results(body, accumulators);
  }

  Shape reduce_extents() const {
    return {loop_.extents.begin() + static_cast<int64_t>(loop_.out_rank), loop_.extents.end()};
  }

  void reduce(size_t axis, const Body& body, Tuple accumulators) {
    if (axis == loop_.out_rank && axis == unrolled_from_ && !reduces_lanes() &&
        reduce_by_address(body, accumulators)) {
      return;
    }
    if (axis == loop_.extents.size()) {
      if (reduces_lanes()) reduce_lanes(body, accumulators);
      else accumulate(body, accumulators);
    } else if (axis == vector_axis_) {
      reduce(axis + 1, body, accumulators);
    } else if (axis >= unrolled_from_) {
      for (int64_t i = 0; i < loop_.extents[axis]; ++i) {
        at_[axis] = {.offset = i};
        reduce(axis + 1, body, accumulators);
      }
    } else {
      emit_sums(sum_loop(axis), accumulators, [&](llvm::Value* i, Tuple sums) {
        at_[axis] = {.base = i};
        reduce(axis + 1, body, sums);
      });
    }
  }

  // Number of elements, or of sums of such, that reduce(axis) adds to each accumulator.
  int64_t additions(size_t axis) const {
    if (axis == loop_.extents.size()) return reduces_lanes() ? lane_additions() : 1;
    if (axis == vector_axis_) return additions(axis + 1);
    if (axis < unrolled_from_) return sum_loop(axis).additions_in_all();
    return loop_.extents[axis] * additions(axis + 1);
  }

  // The loop along a reduced axis.
  SumLoop sum_loop(size_t axis) const {
    return {.end = loop_.extents[axis], .additions = additions(axis + 1), .blocked = blocks_sums_};
  }

  void emit_sums(const SumLoop& loop, Tuple accumulators, const SumBody& body) {
    emit_sum_loop(
        function_, loop, accumulators,
        [&](Tuple into, const std::function<void(Tuple)>& emit) { add_partial(into, emit); }, body);
  }

  // Lets `emit` add to accumulators of their own, and adds these to the given ones.
  void add_partial(Tuple accumulators, const std::function<void(Tuple)>& emit) {
    const int tuples = static_cast<int>(accumulators.size() / components());
    Carried partial = identities(tuples);
    emit(partial);
    for (int i = 0; i < tuples; ++i) combine(tuple(accumulators, i), tuple(partial, i));
  }

  // For unrolled windows of neighbouring rows, which overlap: steps (tap, block) are sorted by the
  // address they load from, so that each line is loaded once, used for all rows, and its registers
  // are free again. A 3 x 3 window and two rows:
  //   line 0    row 0, taps 0..2
  //   line 1    row 0, taps 3..5    row 1, taps 0..2
  //   line 2    row 0, taps 6..8    row 1, taps 3..5
  //   line 3                        row 1, taps 6..8
  // False if addresses are not known at compile time.
  bool reduce_by_address(const Body& body, Tuple accumulators) {
    if (components() != 1 || !is_builtin(*loop_.reducer) || !loop_.kept.empty()) return false;
    std::optional<Expr> shared;
    for_each_node(loop_.elements[0], [&](const Expr& e) {
      const bool is_row = e->op == ExprOp::load && depends_on_axis(e, policy_.vector_axis);
      if (is_row && !shared) shared = e;
    });
    if (!shared) return false;
    struct Step {
      PointEmitter::Place place;
      int64_t tap;
      int block;
    };
    const Shape taps = reduce_extents();
    const Shape strides = row_major_strides(taps);
    const auto go_to = [&](int64_t tap) {
      for (size_t d = 0; d < taps.size(); ++d) {
        at_[loop_.out_rank + d] = {.offset = tap / strides[d] % taps[d]};
      }
    };
    std::vector<Step> steps;
    for (int64_t tap = 0; tap < element_count(taps); ++tap) {
      go_to(tap);
      for (int block = 0; block < body.blocks; ++block) {
        Point point = point_at(body, block, 0);
        const auto place = points_.known_place(*shared, point);
        if (!place) return false;
        steps.push_back({*place, tap, block});
      }
    }
    std::stable_sort(steps.begin(), steps.end(),
                     [](const Step& a, const Step& b) { return a.place < b.place; });
    points_.share_lines();
    const bool shifts = loop_.ignores_outside(*shared) && at_[vector_axis_].base == nullptr;
    ShiftedAccumulators shifted;
    for (size_t i = 0; i < steps.size(); ++i) {
      const Step& step = steps[i];
      // A compiler fence, which is no instruction: LLVM would otherwise keep shared elements that
      // were loaded for an earlier line, more than there are registers, and spill them.
      if (!keeps_shared_ && i > 0 && step.place.line != steps[i - 1].place.line) {
        function_.ir().CreateFence(llvm::AtomicOrdering::SequentiallyConsistent,
                                   llvm::SyncScope::SingleThread);
      }
      go_to(step.tap);
      if (shifts && add_shifted(*shared, body, step.block, shifted)) continue;
      for (int vector = 0; vector < body.vectors; ++vector) {
        Point point = point_at(body, step.block, vector);
        combine_element(point, tuple(accumulators, step.block * body.vectors + vector));
      }
    }
    add_up(shifted, body, accumulators);
    points_.forget_lines();
    return true;
  }

  // Shifted accumulators: lines of strided windows are deinterleaved in registers, so no unaligned
  // load can shift them. Aligned vectors of a line are added to separate accumulators, one set for
  // each block and shift, which are shuffled into place once, at the end:
  //   line          | a0 a1 a2 a3 | a4 a5 a6 a7 |
  //   wanted            [a1 a2 a3    a4]             shift 1
  //   accumulators  | s0 s1 s2 s3 | s4 s5 s6 s7 |    result: s1 s2 s3 s4
  // Keyed by block and position of the first element in the line; null if nothing was added.
  using ShiftedAccumulators = std::map<std::pair<int, int64_t>, Carried>;

  // Adds a tap of a block to its shifted accumulators. `line` is the load that reads lines. Returns
  // false if the tap needs no shift.
  bool add_shifted(const Expr& line, const Body& body, int block, ShiftedAccumulators& shifted) {
    Point point = point_at(body, block, 0);
    const auto place = points_.place_in_line(line, point);
    if (!place || *place % lanes() == 0) return false;
    Carried& sums = shifted[{block, *place}];
    sums.resize(static_cast<size_t>(body.vectors) + 1);
    // Shifted vectors reach into one aligned vector more.
    for (int vector = 0; vector <= body.vectors; ++vector) {
      llvm::Value* part =
          points_.part_of_line(line, point, floor_div(*place, int64_t{lanes()}) + vector);
      if (part == nullptr) continue;
      llvm::Value*& sum = sums[static_cast<size_t>(vector)];
      if (sum == nullptr) sum = identities(1)[0];
      Point whole = point_at(body, block, 0);
      whole.valid = lanes();
      whole.known[{&*line, nullptr}] = part;
      combine_element(whole, {&sum, 1});
    }
    return true;
  }

  // Moves the shifted accumulators into place and adds them to the others.
  void add_up(ShiftedAccumulators& shifted, const Body& body, Tuple accumulators) {
    for (auto& [key, sums] : shifted) {
      const auto& [block, place] = key;
      std::replace(sums.begin(), sums.end(), static_cast<llvm::Value*>(nullptr), identities(1)[0]);
      const int64_t shift = place - floor_div(place, int64_t{lanes()}) * lanes();
      const auto order = llvm::createSequentialMask(static_cast<unsigned>(shift), lanes(), 0);
      for (int vector = 0; vector < body.vectors; ++vector) {
        const auto v = static_cast<size_t>(vector);
        llvm::Value* moved = function_.ir().CreateShuffleVector(sums[v], sums[v + 1], order);
        combine(tuple(accumulators, block * body.vectors + vector), {&moved, 1});
      }
    }
  }

  // Reduces along the vector axis: a lane combines every (`unroll` * `lanes`)-th element.
  void reduce_lanes(const Body& outer, Tuple accumulators) {
    const int64_t extent = loop_.extents[vector_axis_];
    const auto reduce_part = [&](llvm::Value* start, int64_t count, Tuple sums) {
      each_vectors(outer, count, sums, [&](llvm::Value* base, int64_t offset, const Body& body) {
        if (base == nullptr) base = start;
        else if (start != nullptr) base = function_.ir().CreateAdd(start, base, "", false, true);
        at_[vector_axis_] = {.base = base, .offset = offset, .lanes = true};
        accumulate(body, sums);
      });
    };
    // Blocked summation, from two blocks on.
    const SumLoop loop = lane_loop();
    if (loop.end < 2 * loop.step) return reduce_part(nullptr, extent, accumulators);
    emit_sums(loop, accumulators, [&](llvm::Value* start, Tuple sums) {
      add_partial(sums, [&](Tuple partial) { reduce_part(start, loop.step, partial); });
    });
    if (loop.end < extent) reduce_part(function_.index(loop.end), extent - loop.end, accumulators);
  }

  // The loop over whole blocks along a reduced vector axis.
  SumLoop lane_loop() const {
    const int64_t block = kAdditionsOfOneSum * policy_.unroll * policy_.lanes;
    const int64_t whole = loop_.extents[vector_axis_] / block * block;
    return {.end = whole, .step = block, .blocked = blocks_sums_};
  }
  int64_t lane_additions() const { return lane_loop().additions_in_all() + kAdditionsOfOneSum; }

  void accumulate(const Body& body, Tuple accumulators) {
    for (int block = 0; block < body.blocks; ++block) {
      for (int vector = 0; vector < body.vectors; ++vector) {
        Point point = point_at(body, block, vector);
        combine_element(point, tuple(accumulators, block * pitch(body) + vector));
        if (far_apart_) points_.fetch_ahead(loop_.elements[0], point, body.vectors * lanes());
        for (const Loop::Kept& kept : loop_.kept) {
          points_.store(kept.store, points_.value(kept.value, point), point, false);
        }
      }
    }
  }

  // Lanes beyond a partial vector keep what they had: only a reduced vector axis needs that, since
  // elsewhere such lanes are not stored.
  void combine_element(Point& point, Tuple into) {
    llvm::IRBuilder<>& ir = function_.ir();
    llvm::Value* mask = reduces_lanes() ? points_.tail_mask(point) : nullptr;
    const Carried before(into.begin(), into.end());
    if (loop_.sums_float_products() && device_.has(Feature::fma)) {
      const Expr& element = loop_.elements[0];
      llvm::Value* a = points_.vector(element->operands[0], point);
      llvm::Value* b = points_.vector(element->operands[1], point);
      into[0] = ir.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, into[0]});
    } else {
      Carried elements;
      for (const Expr& element : loop_.elements) {
        elements.push_back(points_.vector(element, point));
      }
      combine(into, elements);
    }
    if (mask == nullptr) return;
    for (size_t i = 0; i < into.size(); ++i) into[i] = ir.CreateSelect(mask, into[i], before[i]);
  }

  // into = into combined with other, component by component. `wide`: small floats are summed in
  // f32.
  void combine(Tuple into, Tuple other) {
    Point tuples{.wide = true};
    tuples.lanes = tuples.valid = lanes_of(into[0]);
    tuples.args.assign(into.begin(), into.end());
    tuples.args.insert(tuples.args.end(), other.begin(), other.end());
    for (size_t i = 0; i < into.size(); ++i) {
      into[i] = points_.vector(loop_.reducer->combine[i], tuples);
    }
  }

  // `width` lanes of each vector from `first` on. A single lane is a scalar, as in all of codegen.
  Carried parts_of(Tuple vectors, int first, int width) {
    Carried parts;
    for (llvm::Value* vector : vectors) {
      parts.push_back(width == 1 ? function_.ir().CreateExtractElement(vector, first)
                                 : function_.ir().CreateShuffleVector(
                                       vector, llvm::createSequentialMask(first, width, 0)));
    }
    return parts;
  }

  // Reduces `unroll` vectors of each block to a scalar: vectors first, then halves of the last one.
  void fold_lanes(Carried& accumulators, int blocks) {
    Carried folded;
    for (int block = 0; block < blocks; ++block) {
      const Tuple first = tuple(accumulators, block * policy_.unroll);
      for (int vector = 1; vector < policy_.unroll; ++vector) {
        combine(first, tuple(accumulators, block * policy_.unroll + vector));
      }
      Carried sum(first.begin(), first.end());
      for (int width = lanes() / 2; width >= 1; width /= 2) {
        Carried low = parts_of(sum, 0, width);
        Carried high = parts_of(sum, width, width);
        combine(low, high);
        sum = low;
      }
      folded.insert(folded.end(), sum.begin(), sum.end());
    }
    accumulators = std::move(folded);
  }

  // The epilogue: reduced tuples, rounded to their types, become results and are stored.
  void results(const Body& body, Tuple accumulators) {
    std::vector<Point> points;
    for (int block = 0; block < body.blocks; ++block) {
      for (int vector = 0; vector < body.vectors; ++vector) {
        Point point = point_at(body, block, vector);
        if (reduces_lanes()) {
          point.lanes = point.valid = 1;
          point.at[vector_axis_] = {};
        }
        const Tuple reduced = tuple(accumulators, block * body.vectors + vector);
        for (size_t i = 0; i < reduced.size(); ++i) {
          const DType dtype = loop_.reducer->identity[i].dtype();
          point.args.push_back(elements_.cast(widened(dtype), dtype, reduced[i]));
        }
        points.push_back(std::move(point));
      }
    }
    if (!loop_.reducer) {
      turn_transposed_loads(body, points);
      for (Point& point : points) points_.read_interleaved(loop_.results, point);
    }
    // All values before all stores: equal loads of several points then have no store between them.
    std::vector<std::vector<llvm::Value*>> values;
    std::vector<Expr> wanted;
    for (const Expr& result : loop_.results)
      wanted.push_back(without_repeated_division(result, policy_.vector_axis));
    for (Point& point : points) {
      values.emplace_back();
      for (const Expr& result : wanted) values.back().push_back(points_.value(result, point));
    }
    for (size_t p = 0; p < points.size(); ++p) {
      for (size_t i = 0; i < loop_.stores.size(); ++i) {
        points_.store(loop_.stores[i], values[p][i], points[p], policy_.streaming);
      }
    }
  }

  // Replaces loads that are contiguous along the block axis and strided along the vector axis, in
  // square bodies: `lanes` vectors are loaded along the block axis and transposed in registers.
  void turn_transposed_loads(const Body& body, std::vector<Point>& points) {
    if (policy_.block_axis < 0 || body.blocks != lanes() || lanes() == 1) return;
    const auto turn = [&](const Expr& e) {
      if (points_.stride_along(e, block_axis_) != 1) return;
      const auto across = points_.stride_along(e, vector_axis_);
      if (!across || *across == 0 || *across == 1) return;
      for (int vector = 0; vector < body.vectors; ++vector) {
        const Point& first = points[static_cast<size_t>(vector)];
        if (first.valid != first.lanes) continue;
        const auto turned = points_.transposed(e, first);
        for (int block = 0; block < body.blocks; ++block) {
          points[static_cast<size_t>(block * body.vectors + vector)].known[{&*e, nullptr}] =
              turned[static_cast<size_t>(block)];
        }
      }
    };
    for (const Expr& result : loop_.results) for_each_node(result, turn);
  }

  FunctionBuilder& function_;
  Elements& elements_;
  PointEmitter& points_;
  const Device& device_;
  const Loop& loop_;
  const LoopPolicy& policy_;
  size_t vector_axis_;  // -1 of the policy becomes a number that no axis has
  size_t block_axis_;
  const LoopContext& around_;
  std::vector<AxisPosition> at_;  // by axis: the position that code is being emitted for
  size_t unrolled_from_ = 0;      // reduced axes from this one on are unrolled
  bool keeps_shared_ = true;      // as in PointEmitter::enter
  bool far_apart_ = false;        // sums_far_apart()
  bool blocks_sums_ = false;      // long sums are blocked
};

}  // namespace

void emit_loop(FunctionBuilder& function, Elements& elements, PointEmitter& points,
               const Device& device, const Loop& loop, const LoopContext& around) {
  LoopEmitter(function, elements, points, device, loop, around).emit();
}

}  // namespace aoe
