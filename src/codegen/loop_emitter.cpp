#include "codegen/loop_emitter.h"

#include <algorithm>
#include <numeric>

#include "codegen/aside_sums.h"
#include "codegen/distances.h"
#include "expr/rewrite.h"

// How the loops of a stage become code: at their core a block of vectors whose accumulators are
// values, never memory.

namespace aoe {
namespace {

// Iterations of inner reductions written out one after the other: small windows, whose positions
// become constants, but no more code than this.
constexpr int64_t kUnrolledTaps = 32;
constexpr int64_t kUnrolledBodies = 400;
// Elements that one lane sums before its sum is put aside.
constexpr int64_t kStepsOfOneSum = 64;

using Carried = std::vector<llvm::Value*>;

class LoopEmitter {
 public:
  LoopEmitter(FunctionBuilder& function, Elements& elements, PointEmitter& points,
              const Device& device, const Loop& loop, const LoopSurroundings& around)
      : function_(function),
        elements_(elements),
        points_(points),
        device_(device),
        loop_(loop),
        policy_(loop.policy),
        around_(around) {}

  void emit() {
    std::vector<AxisAt> at = around_.at;
    at.resize(loop_.extents.size());
    unrolled_from_ = unrolled_reductions();
    const Shape taps(loop_.extents.begin() + static_cast<int64_t>(unrolled_from_),
                     loop_.extents.end());
    keeps_shared_ = element_count(taps) <= device_.vector_registers / 2;
    points_.set_keeps_shared(keeps_shared_);
    far_apart_ = loop_.reducer && sums_far_apart(loop_, points_, device_);
    Carried none;
    output_loops(at, around_.at.size(), none);
  }

 private:
  // The points that one pass over the reduction computes: blocks x vectors.
  struct Body {
    int blocks = 1;
    int vectors = 1;
    int valid_last = 0;  // lanes of the last vector
  };

  bool is_vector(size_t axis) const { return static_cast<int>(axis) == policy_.vector_axis; }
  bool is_block(size_t axis) const { return static_cast<int>(axis) == policy_.block_axis; }
  bool reduces_lanes() const {
    return policy_.vector_axis >= 0 && loop_.is_reduced(static_cast<size_t>(policy_.vector_axis));
  }
  size_t components() const { return loop_.reducer ? loop_.reducer->size() : 0; }

  // The first reduced axis that is unrolled, with all after it.
  size_t unrolled_reductions() const {
    int64_t bodies = std::max(1, policy_.unroll * policy_.block);
    int64_t taps = 1;
    size_t first = loop_.extents.size();
    while (first > loop_.out_rank) {
      const int64_t extent = loop_.extents[first - 1];
      if (is_vector(first - 1) || taps * extent > kUnrolledTaps ||
          taps * extent * bodies > kUnrolledBodies) {
        break;
      }
      taps *= extent;
      --first;
    }
    return first;
  }

  void output_loops(std::vector<AxisAt>& at, size_t axis, Carried& none) {
    if (axis == loop_.out_rank) {
      core_loops(at);
      return;
    }
    if (is_vector(axis) || is_block(axis)) {
      output_loops(at, axis + 1, none);
      return;
    }
    const auto body = [&](llvm::Value* i) {
      at[axis] = {.base = i};
      output_loops(at, axis + 1, none);
    };
    if (static_cast<int>(axis) == around_.ranged_axis) {
      function_.loop(around_.range[0], around_.range[1], 1, none, body);
    } else {
      function_.loop(loop_.extents[axis], 1, none, body);
    }
  }

  // Blocks of rows around vectors. Where a block is turned in registers and a walk along the
  // vectors' axis would go through more pages than the processor has at hand, vectors around
  // blocks.
  void core_loops(std::vector<AxisAt>& at) {
    if (transposes() && reads_far(loop_, points_)) {
      vector_loops(at, [&](const Body& vectors) {
        block_loops(at, [&](int blocks) { body(at, with_blocks(vectors, blocks)); });
      });
    } else {
      block_loops(at, [&](int blocks) {
        vector_loops(at, [&](const Body& vectors) { body(at, with_blocks(vectors, blocks)); });
      });
    }
  }

  static Body with_blocks(Body body, int blocks) {
    body.blocks = blocks;
    return body;
  }

  bool transposes() const { return policy_.block == policy_.lanes && policy_.lanes > 1; }

  void block_loops(std::vector<AxisAt>& at, const std::function<void(int)>& inside) {
    if (policy_.block_axis < 0) {
      inside(1);
      return;
    }
    const auto axis = static_cast<size_t>(policy_.block_axis);
    const int64_t extent = loop_.extents[axis];
    const int64_t whole = extent / policy_.block * policy_.block;
    Carried none;
    function_.loop(whole, policy_.block, none, [&](llvm::Value* i) {
      at[axis] = {.base = i};
      inside(policy_.block);
    });
    if (whole == extent) return;
    if (transposes()) {
      function_.loop(function_.index(whole), function_.index(extent), 1, none, [&](llvm::Value* i) {
        at[axis] = {.base = i};
        inside(1);
      });
    } else {
      at[axis] = {.offset = whole};
      inside(static_cast<int>(extent - whole));
    }
  }

  void vector_loops(std::vector<AxisAt>& at, const std::function<void(const Body&)>& inside) {
    if (policy_.vector_axis < 0 || reduces_lanes()) {
      inside({.blocks = 1, .vectors = 1, .valid_last = 1});
      return;
    }
    const auto axis = static_cast<size_t>(policy_.vector_axis);
    each_vectors(loop_.extents[axis], no_carried_,
                 [&](llvm::Value* base, int64_t offset, const Body& vectors) {
                   at[axis] = {.base = base, .offset = offset, .lanes = true};
                   inside(vectors);
                 });
  }

  // Covers an extent with vectors, `unroll` at a time; the last may be a partial one.
  template <typename Fn>
  void each_vectors(int64_t extent, Carried& carried, const Fn& fn) {
    const int64_t lanes = policy_.lanes;
    const int64_t vectors = ceil_div(extent, lanes);
    const int valid = static_cast<int>(extent - (vectors - 1) * lanes);
    const bool partial = valid < lanes;
    int64_t rounds = vectors / policy_.unroll;
    int64_t rest = vectors - rounds * policy_.unroll;
    if (rest == 0 && partial) {
      --rounds;
      rest = policy_.unroll;
    }
    const int64_t step = policy_.unroll * lanes;
    if (rounds > 0) {
      const Body whole{1, policy_.unroll, static_cast<int>(lanes)};
      if (rounds == 1) {
        fn(nullptr, 0, whole);
      } else {
        function_.loop(function_.index(0), function_.index(rounds * step), step, carried,
                       [&](llvm::Value* i) { fn(i, 0, whole); });
      }
    }
    if (rest > 0) fn(nullptr, rounds * step, Body{1, static_cast<int>(rest), valid});
  }

  // --- one body ---------------------------------------------------------------------------------

  int lanes() const { return policy_.vector_axis < 0 ? 1 : policy_.lanes; }

  Point point_at(const std::vector<AxisAt>& at, const Body& body, int block, int vector) const {
    Point point;
    point.at = at;
    point.lanes = lanes();
    point.valid = vector == body.vectors - 1 ? body.valid_last : lanes();
    if (policy_.block_axis >= 0) point.at[static_cast<size_t>(policy_.block_axis)].offset += block;
    if (policy_.vector_axis >= 0) {
      point.at[static_cast<size_t>(policy_.vector_axis)].offset += int64_t{vector} * lanes();
    }
    return point;
  }

  // Accumulators of one point, at the identity.
  void add_identities(Carried& accumulators, int width) {
    for (const Expr& identity : loop_.reducer->identity) {
      accumulators.push_back(elements_.constant(identity, width));
    }
  }

  llvm::Value* identity() {
    Carried tuple;
    add_identities(tuple, lanes());
    return tuple[0];
  }

  void body(std::vector<AxisAt>& at, const Body& body) {
    if (!loop_.reducer) {
      Carried none;
      results(at, body, none);
      return;
    }
    Carried accumulators;
    if (reduces_lanes()) {
      for (int i = 0; i < body.blocks * policy_.unroll; ++i) add_identities(accumulators, lanes());
      if (element_count(reduce_extents()) > 0) reduce(at, loop_.out_rank, body, accumulators);
      fold_lanes(accumulators, body.blocks);
    } else {
      for (int i = 0; i < body.blocks * body.vectors; ++i) add_identities(accumulators, lanes());
      if (element_count(reduce_extents()) > 0) reduce(at, loop_.out_rank, body, accumulators);
    }
    results(at, body, accumulators);
  }

  Shape reduce_extents() const {
    return {loop_.extents.begin() + static_cast<int64_t>(loop_.out_rank), loop_.extents.end()};
  }

  void reduce(std::vector<AxisAt>& at, size_t axis, const Body& body, Carried& accumulators) {
    if (axis == loop_.out_rank && axis == unrolled_from_ && !reduces_lanes() &&
        reduce_by_address(at, body, accumulators)) {
      return;
    }
    if (axis == loop_.extents.size()) {
      if (reduces_lanes()) reduce_lanes(at, body, accumulators);
      else accumulate(at, body, accumulators, body.vectors);
      return;
    }
    if (is_vector(axis)) {
      reduce(at, axis + 1, body, accumulators);
      return;
    }
    if (axis >= unrolled_from_) {
      for (int64_t i = 0; i < loop_.extents[axis]; ++i) {
        at[axis] = {.offset = i};
        reduce(at, axis + 1, body, accumulators);
      }
      return;
    }
    function_.loop(loop_.extents[axis], 1, accumulators, [&](llvm::Value* i) {
      at[axis] = {.base = i};
      reduce(at, axis + 1, body, accumulators);
    });
  }

  // A window of neighbouring rows sees much of the same memory: what is loaded is used for all of
  // them before the next is, so that it need not be kept. False if there is no such order.
  bool reduce_by_address(std::vector<AxisAt>& at, const Body& body, Carried& accumulators) {
    if (components() != 1 || !is_standard(*loop_.reducer) || !loop_.kept.empty()) return false;
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
        at[loop_.out_rank + d] = {.offset = tap / strides[d] % taps[d]};
      }
    };
    std::vector<Step> steps;
    for (int64_t tap = 0; tap < element_count(taps); ++tap) {
      go_to(tap);
      for (int block = 0; block < body.blocks; ++block) {
        Point point = point_at(at, body, block, 0);
        const auto place = points_.known_place(*shared, point);
        if (!place) return false;
        steps.push_back({*place, tap, block});
      }
    }
    std::stable_sort(steps.begin(), steps.end(),
                     [](const Step& a, const Step& b) { return a.place < b.place; });
    points_.share_lines();
    AsideSums aside(
        points_, loop_, *shared,
        {.identity = [&] { return identity(); },
         .take_in = [&](Point& p, llvm::Value** own) { combine_element(p, own); },
         .combine = [&](llvm::Value* a, llvm::Value* b) { return combined({a, b}, lanes())[0]; }});
    for (size_t i = 0; i < steps.size(); ++i) {
      const Step& step = steps[i];
      // Nothing that was loaded further back is kept for later: it would be too much.
      if (!keeps_shared_ && i > 0 && step.place.line != steps[i - 1].place.line) {
        function_.ir().CreateFence(llvm::AtomicOrdering::SequentiallyConsistent,
                                   llvm::SyncScope::SingleThread);
      }
      go_to(step.tap);
      if (aside.add(point_at(at, body, step.block, 0), step.block, body.vectors)) continue;
      for (int vector = 0; vector < body.vectors; ++vector) {
        Point point = point_at(at, body, step.block, vector);
        combine_element(point,
                        &accumulators[static_cast<size_t>(step.block * body.vectors + vector)]);
      }
    }
    aside.move_to(accumulators, body.vectors, function_.ir());
    points_.forget_lines();
    return true;
  }

  void reduce_lanes(std::vector<AxisAt>& at, const Body& outer, Carried& accumulators) {
    const auto axis = static_cast<size_t>(policy_.vector_axis);
    const auto reduce_part = [&](llvm::Value* start, int64_t extent, Carried& sums) {
      each_vectors(extent, sums, [&](llvm::Value* base, int64_t offset, Body b) {
        if (base == nullptr) base = start;
        else if (start != nullptr) base = function_.ir().CreateAdd(start, base, "", false, true);
        at[axis] = {.base = base, .offset = offset, .lanes = true};
        b.blocks = outer.blocks;
        accumulate(at, b, sums, policy_.unroll);
      });
    };
    // A long sum loses digits with every step: each part is summed by itself.
    const int64_t part = kStepsOfOneSum * policy_.unroll * policy_.lanes;
    const int64_t whole = loop_.extents[axis] / part * part;
    if (whole < 2 * part) {
      reduce_part(nullptr, loop_.extents[axis], accumulators);
      return;
    }
    function_.loop(whole, part, accumulators, [&](llvm::Value* start) {
      Carried own;
      const size_t tuples = accumulators.size() / components();
      for (size_t i = 0; i < tuples; ++i) add_identities(own, lanes());
      reduce_part(start, part, own);
      for (size_t i = 0; i < tuples; ++i) {
        const auto first = static_cast<int64_t>(i * components());
        const auto last = first + static_cast<int64_t>(components());
        std::vector<llvm::Value*> args(accumulators.begin() + first, accumulators.begin() + last);
        args.insert(args.end(), own.begin() + first, own.begin() + last);
        const std::vector<llvm::Value*> both = combined(args, lanes());
        std::copy(both.begin(), both.end(), accumulators.begin() + first);
      }
    });
    if (whole < loop_.extents[axis]) {
      reduce_part(function_.index(whole), loop_.extents[axis] - whole, accumulators);
    }
  }

  // One step of the reduction for all points of the body. Accumulators lie `pitch` vectors apart
  // from block to block.
  void accumulate(std::vector<AxisAt>& at, const Body& body, Carried& accumulators, int pitch) {
    const size_t n = components();
    for (int block = 0; block < body.blocks; ++block) {
      for (int vector = 0; vector < body.vectors; ++vector) {
        Point point = point_at(at, body, block, vector);
        llvm::Value** own = &accumulators[static_cast<size_t>(block * pitch + vector) * n];
        combine_element(point, own);
        if (far_apart_) points_.fetch_ahead(loop_.elements[0], point, body.vectors * lanes());
        for (const Loop::Kept& kept : loop_.kept) {
          points_.store(kept.store, points_.value(kept.value, point, loop_.extents), point, false);
        }
      }
    }
  }

  void combine_element(Point& point, llvm::Value** own) {
    const size_t n = components();
    llvm::IRBuilder<>& ir = function_.ir();
    llvm::Value* mask = reduces_lanes() ? points_.tail_mask(point) : nullptr;
    std::vector<llvm::Value*> next;
    if (multiplies_and_adds()) {
      const Expr& element = loop_.elements[0];
      llvm::Value* a = points_.vector(element->operands[0], point, loop_.extents);
      llvm::Value* b = points_.vector(element->operands[1], point, loop_.extents);
      next.push_back(ir.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, own[0]}));
    } else {
      std::vector<llvm::Value*> args(own, own + n);
      for (const Expr& element : loop_.elements) {
        args.push_back(points_.vector(element, point, loop_.extents));
      }
      next = combined(args, point.lanes);
    }
    for (size_t i = 0; i < n; ++i) {
      own[i] = mask == nullptr ? next[i] : ir.CreateSelect(mask, next[i], own[i]);
    }
  }

  bool multiplies_and_adds() const {
    const Expr& element = loop_.elements[0];
    return is_sum(*loop_.reducer) && element->op == ExprOp::mul &&
           (element.dtype() == DType::f32 || element.dtype() == DType::f64) &&
           device_.has(Feature::fma);
  }

  std::vector<llvm::Value*> combined(const std::vector<llvm::Value*>& args, int width) {
    Point tuples;
    tuples.lanes = width;
    tuples.valid = width;
    tuples.args = args;
    tuples.wide = true;
    std::vector<llvm::Value*> result;
    for (const Expr& combine : loop_.reducer->combine) {
      result.push_back(points_.vector(combine, tuples, loop_.extents));
    }
    return result;
  }

  // Lanes of a vector from `first` on; one alone is a scalar, as everywhere.
  llvm::Value* part_of(llvm::Value* vector, int first, int width) {
    if (width == 1) {
      return function_.ir().CreateExtractElement(vector, static_cast<uint64_t>(first));
    }
    std::vector<int> lanes(static_cast<size_t>(width));
    std::iota(lanes.begin(), lanes.end(), first);
    return function_.ir().CreateShuffleVector(vector, lanes);
  }

  // From `unroll` vectors for each block to one scalar tuple.
  void fold_lanes(Carried& accumulators, int blocks) {
    const size_t n = components();
    const auto unroll = static_cast<size_t>(policy_.unroll);
    Carried folded;
    for (size_t block = 0; block < static_cast<size_t>(blocks); ++block) {
      const auto tuple_at = [&](size_t vector) {
        const auto first =
            accumulators.begin() + static_cast<int64_t>((block * unroll + vector) * n);
        return std::vector<llvm::Value*>(first, first + static_cast<int64_t>(n));
      };
      std::vector<llvm::Value*> tuple = tuple_at(0);
      for (size_t vector = 1; vector < unroll; ++vector) {
        std::vector<llvm::Value*> args = tuple;
        for (llvm::Value* value : tuple_at(vector)) args.push_back(value);
        tuple = combined(args, lanes());
      }
      for (int width = lanes() / 2; width >= 1; width /= 2) {
        std::vector<llvm::Value*> args;
        for (const int first : {0, width}) {
          for (llvm::Value* value : tuple) args.push_back(part_of(value, first, width));
        }
        tuple = combined(args, width);
      }
      folded.insert(folded.end(), tuple.begin(), tuple.end());
    }
    accumulators = std::move(folded);
  }

  // The reduced tuples, rounded to their types, become results and are stored.
  void results(std::vector<AxisAt>& at, const Body& body, const Carried& accumulators) {
    const size_t n = components();
    std::vector<Point> points;
    for (int block = 0; block < body.blocks; ++block) {
      for (int vector = 0; vector < body.vectors; ++vector) {
        Point point = point_at(at, body, block, vector);
        if (reduces_lanes()) {
          point.lanes = point.valid = 1;
          point.at[static_cast<size_t>(policy_.vector_axis)] = {};
        }
        const size_t first = static_cast<size_t>(block * body.vectors + vector) * n;
        for (size_t i = 0; i < n; ++i) {
          const DType dtype = loop_.reducer->identity[i].dtype();
          point.args.push_back(elements_.cast(widened(dtype), dtype, accumulators[first + i]));
        }
        points.push_back(std::move(point));
      }
    }
    if (!loop_.reducer) {
      turn_transposed_loads(body, points);
      for (Point& point : points) part_interleaved_loads(point);
    }
    // All values before all stores: what several points load is then loaded once.
    std::vector<std::vector<llvm::Value*>> values;
    std::vector<Expr> wanted;
    for (const Expr& result : loop_.results) wanted.push_back(without_repeated_division(result));
    for (Point& point : points) {
      values.emplace_back();
      for (const Expr& result : wanted) {
        values.back().push_back(points_.value(result, point, loop_.extents));
      }
    }
    for (size_t p = 0; p < points.size(); ++p) {
      for (size_t i = 0; i < loop_.stores.size(); ++i) {
        points_.store(loop_.stores[i], values[p][i], points[p], policy_.streaming);
      }
    }
  }

  // A result that is divided by the same number in all lanes is multiplied by its inverse, which is
  // found once. The last digit may differ: no more than a result may, too much for what is rounded
  // to an integer afterwards.
  Expr without_repeated_division(const Expr& result) const {
    if (result->op != ExprOp::div || result.dtype() != DType::f32 || policy_.vector_axis < 0 ||
        depends_on_axis(result->operands[1], policy_.vector_axis) ||
        any_node(result->operands[1], [](const Expr& e) { return e->op == ExprOp::arg; })) {
      return result;
    }
    // The inverse of a very large number would be flushed to zero: both are made smaller first.
    const Expr& divisor = result->operands[1];
    const Expr scale = ::aoe::select(lt(0x1p100, abs(divisor)), number_like(divisor, 0x1p-64),
                                     number_like(divisor, 1.0));
    return (result->operands[0] * scale) * (1 / (divisor * scale));
  }

  // Loads that are contiguous along the block axis, and not along the vector axis.
  void turn_transposed_loads(const Body& body, std::vector<Point>& points) {
    if (policy_.block_axis < 0 || body.blocks != lanes() || lanes() == 1) return;
    const auto vector_axis = static_cast<size_t>(policy_.vector_axis);
    const auto block_axis = static_cast<size_t>(policy_.block_axis);
    const auto turn = [&](const Expr& e) {
      if (e->op != ExprOp::load) return;
      if (points_.stride_along(e, block_axis, loop_.extents) != 1) return;
      const auto across = points_.stride_along(e, vector_axis, loop_.extents);
      if (!across || *across == 0 || *across == 1) return;
      const bool near = is_near_matrix(e, loop_, around_.at.size(), points_, device_);
      const int64_t rows = near ? loop_.extents[vector_axis] : 0;
      for (int vector = 0; vector < body.vectors; ++vector) {
        const Point& first = points[static_cast<size_t>(vector)];
        if (first.valid != first.lanes) continue;
        const auto turned = points_.transposed(e, first, vector_axis, block_axis, rows);
        for (int block = 0; block < body.blocks; ++block) {
          points[static_cast<size_t>(block * body.vectors + vector)].known[{&*e, nullptr}] =
              turned[static_cast<size_t>(block)];
        }
      }
    };
    for (const Expr& result : loop_.results) for_each_node(result, turn);
  }

  // Results that are neighbouring elements, each at a step of as many: read once.
  void part_interleaved_loads(Point& point) {
    if (const auto parts = points_.interleaved(loop_.results, point, loop_.extents)) {
      for (size_t i = 0; i < parts->size(); ++i) {
        point.known[{&*loop_.results[i], nullptr}] = (*parts)[i];
      }
    }
  }

  FunctionBuilder& function_;
  Elements& elements_;
  PointEmitter& points_;
  const Device& device_;
  const Loop& loop_;
  const LoopPolicy& policy_;
  const LoopSurroundings& around_;
  size_t unrolled_from_ = 0;
  bool keeps_shared_ = true;
  bool far_apart_ = false;  // what is summed
  Carried no_carried_;
};

}  // namespace

void emit_loop(FunctionBuilder& function, Elements& elements, PointEmitter& points,
               const Device& device, const Loop& loop, const LoopSurroundings& around) {
  LoopEmitter(function, elements, points, device, loop, around).emit();
}

}  // namespace aoe
