#include "backend/interpreter.h"

#include <map>
#include <mutex>

#include "backend/executor.h"
#include "base/error.h"
#include "expr/evaluate.h"
#include "expr/rewrite.h"

// The backend without code generation. In reading order:
//   LoopWorkload         a loop of a nest as a workload over the nest's buffers
//   InterpretedNest      evaluates these workloads and scatters their results to the buffers
//   run_tiles            computes the tiles of a call, their epilogue as a workload
//   InterpreterBackend   gives both to the Executor, which runs loops and calls
//
// The outputs of a loop's workload are, for each store, the values and the offsets to store them
// at. The first outer point is an input, so that one evaluator serves all calls of a loop with the
// same number of points.

namespace aoe {
namespace {

// Makes the workload of a loop for `points` outer points. Its inputs are the buffers, the first
// outer point, and the bounds of the ranged axis. Buffer i is value 2i in its shape and value 2i +
// 1, a view, in one dimension, for loads with linear offsets.
class LoopWorkload {
 public:
  LoopWorkload(const Nest& nest, const Loop& loop, int64_t points) : nest_(nest), loop_(loop) {
    for (const NestBuffer& buffer : nest.buffers) {
      const int shaped = add({buffer.dtype, buffer.shape});
      workload_.inputs.push_back(shaped);
      add({buffer.dtype, {element_count(buffer.shape)}}, shaped);
    }
    const size_t outer = nest.outer.size();
    const Expr point = input() + Expr::axis(0);
    const Expr from = input();
    const Expr to = input();
    int64_t stride = 1;
    axes_.resize(loop.extents.size());
    for (size_t i = outer; i-- > 0; stride *= nest.outer[i]) {
      axes_[i] = mod(point / stride, nest.outer[i]);
    }
    extents_ = {points};
    for (size_t i = outer; i < loop.extents.size(); ++i) {
      axes_[i] = Expr::axis(static_cast<int64_t>(extents_.size()));
      extents_.push_back(loop.extents[i]);
      // The extent is fixed, the range is not: positions beyond it repeat the last one.
      if (nest.ranged_axis == static_cast<int>(i)) axes_[i] = min(from + axes_[i], to - 1);
    }
    out_rank_ = 1 + loop.out_rank - outer;
  }

  // Two outputs for each store: values and offsets.
  Workload finish() {
    const auto out = static_cast<int64_t>(out_rank_);
    Stage stage;
    stage.axes = {extents_.begin(), extents_.begin() + out};
    if (loop_.reducer) {
      stage.reduce_axes = {extents_.begin() + out, extents_.end()};
      stage.reducer = loop_.reducer;
      for (const Expr& element : loop_.elements) stage.elements.push_back(moved(element));
    }
    for (size_t i = 0; i < loop_.stores.size(); ++i) {
      add_store(stage, loop_.results[i], loop_.stores[i]);
    }
    Stage kept;
    kept.axes = extents_;
    for (const Loop::Kept& one : loop_.kept) add_store(kept, one.value, one.store);
    workload_.stages.push_back(std::move(stage));
    if (!loop_.kept.empty()) workload_.stages.push_back(std::move(kept));
    return std::move(workload_);
  }

 private:
  int add(TensorType type, int view_of = -1) {
    workload_.values.push_back({.type = std::move(type), .view_of = view_of, .constant = {}});
    return static_cast<int>(workload_.values.size()) - 1;
  }
  Expr input() {
    const int value = add({DType::i64, {1}});
    workload_.inputs.push_back(value);
    return Expr::load(value, DType::i64, {Expr::integer(DType::i64, 0)});
  }

  Expr moved(const Expr& expr) const { return on_values(with_axes(expr, axes_)); }
  Expr on_values(const Expr& expr) const {
    return rewrite(expr, [&](const Expr& e) -> Expr {
      // Leaves loads of the outer point and of the range alone: their values follow the buffers'.
      if (e->op != ExprOp::load || e->id >= static_cast<int64_t>(nest_.buffers.size())) return {};
      if (e->linear) return Expr::load(2 * e->id + 1, e.dtype(), {on_values(e->operands[0])});
      std::vector<Expr> index;
      for (const Expr& position : index_of(e)) index.push_back(on_values(position));
      return Expr::load(2 * e->id, e.dtype(), index,
                        has_out_of_range_value(e) ? on_values(e->operands.back()) : Expr{});
    });
  }

  void add_store(Stage& stage, const Expr& value, const NestStore& store) {
    for (const Expr& expr : {moved(value), moved(store.offset)}) {
      stage.results.push_back(expr);
      stage.outputs.push_back(add({expr.dtype(), stage.axes}));
      workload_.outputs.push_back(stage.outputs.back());
    }
  }

  const Nest& nest_;
  const Loop& loop_;
  Workload workload_;
  std::vector<Expr> axes_;
  Shape extents_;
  size_t out_rank_ = 0;
};

class InterpretedNest {
 public:
  explicit InterpretedNest(Nest nest) : nest_(std::move(nest)) {}

  int run(void* const* buffers, const int64_t* range, void* rows) {
    std::vector<void*> memory;
    bool has_rows = false;
    for (size_t i = 0; i < nest_.buffers.size(); ++i) {
      const bool row = nest_.buffers[i].row;
      memory.push_back(row ? static_cast<std::byte*>(rows) + nest_.row_buffer_offset(i)
                           : buffers[i]);
      has_rows = has_rows || row;
    }
    // Rows hold the values of one outer point: with rows, run point by point.
    const int64_t step = has_rows ? 1 : range[1] - range[0];
    for (const Loop& loop : nest_.loops) {
      if (loop.once) run(loop, memory, range, range[0], 1);
    }
    for (int64_t point = range[0]; point < range[1]; point += step) {
      for (const Loop& loop : nest_.loops) {
        if (!loop.once) run(loop, memory, range, point, step);
      }
    }
    return 0;
  }

 private:
  const Evaluator& evaluator(const Loop& loop, int64_t points) {
    const std::lock_guard lock(mutex_);
    auto& known = evaluators_[{&loop, points}];
    if (!known) {
      known = std::make_unique<Evaluator>(
          std::make_shared<const Workload>(LoopWorkload(nest_, loop, points).finish()));
    }
    return *known;
  }

  void run(const Loop& loop, const std::vector<void*>& memory, const int64_t* range, int64_t point,
           int64_t points) {
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < memory.size(); ++i) {
      const NestBuffer& buffer = nest_.buffers[i];
      // Not `over`, which copies bools: only a strip of the buffer's shape may be allocated.
      inputs.push_back(Tensor::onto({buffer.dtype, buffer.shape}, memory[i], nullptr));
    }
    const int64_t numbers[] = {point, range[2], range[3]};
    for (const int64_t& number : numbers) {
      inputs.push_back(Tensor::over({DType::i64, {1}}, &number, nullptr));
    }
    const std::vector<Tensor> results = evaluator(loop, points).run(inputs, 1);
    size_t at = 0;
    const auto store = [&](const NestStore& to) {
      const Tensor& values = results[at++];
      const int64_t* const offsets = results[at++].data<int64_t>();
      dispatch(values.dtype(), [&](auto tag) {
        using T = typename decltype(tag)::type;
        T* const elements = static_cast<T*>(memory[static_cast<size_t>(to.buffer)]);
        for (int64_t i = 0; i < values.count(); ++i) elements[offsets[i]] = values.data<T>()[i];
      });
    };
    for (const NestStore& one : loop.stores) store(one);
    for (const Loop::Kept& one : loop.kept) store(one.store);
  }

  Nest nest_;
  std::mutex mutex_;
  std::map<std::pair<const Loop*, int64_t>, std::unique_ptr<Evaluator>> evaluators_;
};

// Computes all tiles of a call: first the sums of all elements, then the epilogue as one workload
// over the lists of sums and operands.
template <typename T>
void run_tiles(const Tile& tile, const TileCall& call) {
  using Sum = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
  const int64_t width =
      tile.partial ? (tile.vectors - 1) * tile.lanes + call.columns : tile.width();
  const int64_t count = call.tiles * tile.rows * width;
  Tensor sums(tile.dtype(), {count});
  std::vector<Tensor> inputs{sums};
  for (const Tile::Operand& operand : tile.operands)
    inputs.emplace_back(operand.dtype, Shape{count});
  // A pointer of tile `which`: tiles are evenly spaced, as far apart as the first two.
  const auto at = [](const void* first, const void* second, int64_t which) {
    const auto* const start = static_cast<const std::byte*>(first);
    return which == 0 ? start : start + which * (static_cast<const std::byte*>(second) - start);
  };
  const auto for_each = [&](const auto& visit) {
    int64_t i = 0;
    for (int64_t t = 0; t < call.tiles; ++t) {
      for (int64_t row = 0; row < tile.rows; ++row) {
        for (int64_t column = 0; column < width; ++column) visit(i++, t, row, column);
      }
    }
  };
  // The partial sum of an element: of type T, or double if sums are wide.
  const auto kept = [&](auto type, int64_t t, int64_t row, int64_t column) {
    const std::byte* const base = at(call.first.sums, call.second.sums, t);
    auto* const sums = reinterpret_cast<decltype(type)*>(const_cast<std::byte*>(base));
    return sums + row * call.sums_row + column;
  };
  const bool finishes = !tile.split || call.finishes != 0;
  for_each([&](int64_t i, int64_t t, int64_t row, int64_t column) {
    const auto* const left = reinterpret_cast<const T*>(at(call.first.left, call.second.left, t));
    const auto* const right =
        reinterpret_cast<const T*>(at(call.first.right, call.second.right, t));
    Sum sum{};
    if (tile.split && call.continues != 0) {
      sum = tile.wide_sums ? static_cast<Sum>(*kept(double{}, t, row, column))
                           : static_cast<Sum>(*kept(T{}, t, row, column));
    }
    for (int64_t k = 0; k < call.depth; ++k) {
      const int64_t place = tile.packed_left ? k * tile.rows + row
                            : tile.pieces    ? call.pieces[k / call.piece] + row * call.left_row +
                                                k % call.piece * call.left_depth
                                          : row * call.left_row + k * call.left_depth;
      sum += static_cast<Sum>(left[place]) * static_cast<Sum>(right[k * call.right_depth + column]);
    }
    sums.data<T>()[i] = static_cast<T>(sum);
    if (tile.keeps || !finishes) {
      if (tile.wide_sums) *kept(double{}, t, row, column) = static_cast<double>(sum);
      else *kept(T{}, t, row, column) = static_cast<T>(sum);
    }
    for (size_t o = 0; o < tile.operands.size() && finishes; ++o) {
      const int64_t bytes = info(tile.operands[o].dtype).bytes;
      const int64_t offset = row * call.operand_row[o] + (tile.operands[o].by_column ? column : 0);
      std::memcpy(inputs[o + 1].raw() + i * bytes,
                  at(call.first.operands[o], call.second.operands[o], t) + offset * bytes,
                  static_cast<size_t>(bytes));
    }
  });
  if (!finishes) return;
  Workload workload;
  Stage stage;
  stage.axes = {count};
  for (const Tensor& input : inputs) {
    workload.inputs.push_back(static_cast<int>(workload.values.size()));
    workload.values.push_back({.type = input.type(), .view_of = -1, .constant = {}});
  }
  stage.results = {rewrite(tile.result, [&](const Expr& e) -> Expr {
    if (e->op != ExprOp::arg && e->op != ExprOp::load) return {};
    return Expr::load(e->op == ExprOp::arg ? 0 : e->id + 1, e.dtype(), {Expr::axis(0)});
  })};
  stage.outputs = workload.outputs = {static_cast<int>(workload.values.size())};
  workload.values.push_back({.type = {tile.out_dtype, {count}}, .view_of = -1, .constant = {}});
  workload.stages = {stage};
  const Tensor results =
      Evaluator(std::make_shared<const Workload>(std::move(workload))).run(inputs, 1)[0];
  const int64_t bytes = info(tile.out_dtype).bytes;
  for_each([&](int64_t i, int64_t t, int64_t row, int64_t column) {
    auto* const out = const_cast<std::byte*>(at(call.first.out, call.second.out, t));
    std::memcpy(out + (row * call.out_row + column) * bytes, results.raw() + i * bytes,
                static_cast<size_t>(bytes));
  });
}

NestFunction interpreted(const Nest& nest) {
  auto of_nest = std::make_shared<InterpretedNest>(nest);
  return [of_nest](void* const* buffers, const int64_t* range, void* rows) {
    try {
      return of_nest->run(buffers, range, rows);
    } catch (const Error&) {
      return 1;
    }
  };
}

TileFunction interpreted(const Tile& tile) {
  return [tile](const TileCall* call) {
    switch (tile.dtype()) {
      case DType::f32: return run_tiles<float>(tile, *call);
      case DType::f64: return run_tiles<double>(tile, *call);
      case DType::i32: return run_tiles<int32_t>(tile, *call);
      default: return run_tiles<int64_t>(tile, *call);
    }
  };
}

class InterpreterBackend : public Backend {
 public:
  using Backend::Backend;

  std::shared_ptr<const Backend> with(Device device) const override {
    return interpreter_backend(std::move(device));
  }

  std::unique_ptr<const CompiledProgram> compile(
      Program program, std::vector<Tensor> packed_weights) const override {
    ProgramFunctions functions;
    for (const Nest& nest : program.nests) functions.nests.push_back(interpreted(nest));
    for (const Tile& tile : program.tiles) functions.tiles.push_back(interpreted(tile));
    functions.weights = std::move(packed_weights);
    return std::make_unique<Executor>(std::move(program), std::move(functions),
                                      device().vector_bytes);
  }
};

}  // namespace

std::shared_ptr<const Backend> interpreter_backend(Device device) {
  return std::make_shared<const InterpreterBackend>(std::move(device));
}

}  // namespace aoe
