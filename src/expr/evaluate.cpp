#include "expr/evaluate.h"

#include <algorithm>
#include <cassert>

#include "base/parallel.h"
#include "expr/tape.h"

// Runs the tapes of a workload (expr/tape.h). In reading order:
//
//   merged_loops    merges output axes, so that strips are long
//   padded          the copies that out-of-bounds loads read instead of their tensor
//   StageRun        one stage: run divides its points among threads, run_range into strips;
//                   enter_strip sets the offsets of loads, run_strip interprets the tape
//   Evaluator::run  the stages in order, with views of their results
//
// Output points are numbered row by row and computed independently of each other, so the result
// does not depend on how they are divided among strips and threads.

namespace aoe {
namespace {

// A strip lies along one axis if that axis is at least this long; shorter rows are gathered into
// longer strips instead.
constexpr int64_t kLinear = 48;

// Less work (points times positions of the reduction) is not worth starting another thread.
constexpr int64_t kParallelWork = 1 << 18;

// The output axes of a stage, with neighbours merged where one stride spans both in all loads.
struct Loops {
  Shape extents;
  std::vector<std::vector<int64_t>> strides;  // per load, along the merged axes
  std::vector<int64_t> merged_from;           // first original axis of each merged one
};

Loops merged_loops(const Tape& tape, const Shape& axes) {
  Loops loops;
  loops.strides.resize(tape.loads.size());
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    bool merges = axis > 0 && !tape.axis_is_value[axis - 1] && !tape.axis_is_value[axis];
    for (size_t i = 0; merges && i < tape.loads.size(); ++i) {
      const std::vector<int64_t>& strides = tape.loads[i].out_strides;
      merges = strides[axis - 1] == strides[axis] * axes[axis];
    }
    if (merges) loops.extents.back() *= axes[axis];
    else loops.extents.push_back(axes[axis]);
    if (!merges) loops.merged_from.push_back(static_cast<int64_t>(axis));
    for (size_t i = 0; i < tape.loads.size(); ++i) {
      std::vector<int64_t>& strides = loops.strides[i];
      strides.resize(loops.extents.size());
      strides.back() = tape.loads[i].out_strides[axis];
    }
  }
  if (loops.extents.empty()) {
    loops.extents = {1};
    loops.merged_from = {0};
    for (auto& strides : loops.strides) strides = {0};
  }
  return loops;
}

Tensor padded(const PaddedCopy& copy, const Tensor& tensor) {
  const TensorType type{tensor.dtype(), copy.extent};
  return dispatch(type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    Tensor result(type);
    const T outside = is_float(type.dtype) ? static_cast<T>(copy.outside->number)
                                           : static_cast<T>(copy.outside->id);
    T* to = result.data<T>();
    std::fill_n(to, result.count(), outside);
    const size_t rank = copy.extent.size();
    // Copies the part that the tensor covers, row by row.
    Shape first(rank);
    Shape last(rank);
    for (size_t i = 0; i < rank; ++i) {
      first[i] = std::max<int64_t>(0, -copy.low[i]);
      last[i] = std::min(copy.extent[i], tensor.shape()[i] - copy.low[i]);
      if (first[i] >= last[i]) return result;
    }
    const Shape to_strides = row_major_strides(copy.extent);
    const Shape from_strides = row_major_strides(tensor.shape());
    const T* from = tensor.data<T>();
    Shape at = first;
    for (;;) {
      int64_t to_offset = 0;
      int64_t from_offset = 0;
      for (size_t i = 0; i < rank; ++i) {
        to_offset += at[i] * to_strides[i];
        from_offset += (at[i] + copy.low[i]) * from_strides[i];
      }
      std::copy_n(from + from_offset, last[rank - 1] - first[rank - 1], to + to_offset);
      size_t axis = rank - 1;
      while (axis-- > 0) {
        if (++at[axis] < last[axis]) break;
        at[axis] = first[axis];
      }
      if (axis == static_cast<size_t>(-1)) return result;
    }
  });
}

// Runs one stage over a range of its output points.
class StageRun {
 public:
  StageRun(const Stage& stage, const Tape& tape, const std::vector<Tensor>& tensors)
      : stage_(stage), tape_(tape), tensors_(tensors), loops_(merged_loops(tape, stage.axes)) {
    for (const PaddedCopy& copy : tape.padded) {
      padded_.push_back(padded(copy, tensors[static_cast<size_t>(copy.value)]));
    }
    for (const StridedLoad& load : tape.loads) {
      const Tensor& source = load.padded >= 0 ? padded_[static_cast<size_t>(load.padded)]
                                              : tensors[static_cast<size_t>(load.value)];
      bases_.push_back(source.raw());
    }
    linear_ = loops_.extents.back() >= kLinear || loops_.extents.size() == 1;
    reduce_count_ = stage.reducer ? element_count(stage.reduce_axes) : 0;
  }

  void run(int threads, std::vector<Tensor>& outputs) const {
    const int64_t points = element_count(stage_.axes);
    const int64_t cost = std::max<int64_t>(1, reduce_count_);
    // Threads get whole rows, so that dividing the points does not shorten linear strips.
    const int64_t row = linear_ ? loops_.extents.back() : 1;
    int64_t grain = std::max<int64_t>(kStrip, kParallelWork / cost / 4);
    grain = ceil_div(grain, row) * row;
    if (points < kParallelWork / cost) threads = 1;
    parallel_for(points, grain, threads,
                 [&](int64_t first, int64_t last, int) { run_range(first, last, outputs); });
  }

 private:
  void run_range(int64_t first, int64_t last, std::vector<Tensor>& outputs) const {
    Frame frame;
    frame.linear = linear_;
    frame.tensors = &tensors_;
    frame.registers = std::make_unique_for_overwrite<double[]>(
        static_cast<size_t>(tape_.register_count * kStrip));
    frame.positions.resize(stage_.axes.size());
    frame.loads.resize(tape_.loads.size());
    for (size_t i = 0; i < frame.loads.size(); ++i) {
      frame.loads[i].base = bases_[i];
      if (!linear_) frame.loads[i].offsets.resize(kStrip);
    }
    execute(tape_.setup, frame);
    const int64_t row = loops_.extents.back();
    while (first < last) {
      int64_t count = std::min(kStrip, last - first);
      if (linear_) count = std::min(count, row - first % row);
      frame.count = count;
      enter_strip(first, frame);
      run_strip(frame);
      store(first, frame, outputs);
      first += count;
    }
  }

  static void execute(const std::vector<Instr>& instrs, Frame& frame) {
    for (const Instr& instr : instrs) instr.run(instr, frame);
  }

  // Position of a point along each merged axis.
  Shape position_of(int64_t point) const {
    Shape position(loops_.extents.size());
    for (size_t i = position.size(); i-- > 0;) {
      position[i] = point % loops_.extents[i];
      point /= loops_.extents[i];
    }
    return position;
  }

  void enter_strip(int64_t first, Frame& frame) const {
    const Shape start = position_of(first);
    for (size_t i = 0; i < frame.loads.size(); ++i) {
      Frame::LoadState& load = frame.loads[i];
      const std::vector<int64_t>& strides = loops_.strides[i];
      int64_t origin = tape_.loads[i].origin;
      for (size_t axis = 0; axis < start.size(); ++axis) origin += start[axis] * strides[axis];
      load.reduce_offset = 0;
      load.origin = origin;
      load.stride = strides.back();
      if (!linear_) {
        for_each_point(start, frame.count, [&](const Shape& at, int64_t i_point) {
          int64_t offset = tape_.loads[i].origin;
          for (size_t axis = 0; axis < at.size(); ++axis) offset += at[axis] * strides[axis];
          load.offsets[static_cast<size_t>(i_point)] = offset;
        });
      }
    }
    for (size_t axis = 0; axis < loops_.merged_from.size(); ++axis) {
      const auto original = static_cast<size_t>(loops_.merged_from[axis]);
      if (original >= stage_.axes.size() || !tape_.axis_is_value[original]) continue;
      std::vector<int64_t>& positions = frame.positions[original];
      positions.resize(kStrip);
      for_each_point(start, frame.count, [&](const Shape& at, int64_t i) {
        positions[static_cast<size_t>(i)] = at[axis];
      });
    }
  }

  template <typename Fn>
  void for_each_point(Shape at, int64_t count, const Fn& fn) const {
    for (int64_t i = 0; i < count; ++i) {
      fn(at, i);
      for (size_t axis = at.size(); axis-- > 0;) {
        if (++at[axis] < loops_.extents[axis]) break;
        at[axis] = 0;
      }
    }
  }

  void run_strip(Frame& frame) const {
    execute(tape_.restart, frame);
    execute(tape_.outer, frame);
    if (reduce_count_ > 0) {
      frame.reduce_position.assign(stage_.reduce_axes.size(), 0);
      for (int64_t step = 0;;) {
        execute(tape_.inner, frame);
        if (++step == reduce_count_) break;
        advance_reduction(frame);
      }
    }
    execute(tape_.finish, frame);
  }

  void advance_reduction(Frame& frame) const {
    for (size_t axis = stage_.reduce_axes.size(); axis-- > 0;) {
      const bool wraps = ++frame.reduce_position[axis] == stage_.reduce_axes[axis];
      const int64_t steps = wraps ? 1 - stage_.reduce_axes[axis] : 1;
      for (size_t i = 0; i < frame.loads.size(); ++i) {
        frame.loads[i].reduce_offset += steps * tape_.loads[i].reduce_strides[axis];
      }
      if (!wraps) return;
      frame.reduce_position[axis] = 0;
    }
  }

  void store(int64_t first, Frame& frame, std::vector<Tensor>& outputs) const {
    for (size_t i = 0; i < tape_.results.size(); ++i) {
      Tensor& output = outputs[i];
      dispatch(output.dtype(), [&](auto tag) {
        using T = typename decltype(tag)::type;
        T* to = output.data<T>() + first;
        const auto copy = [&](const auto* from) {
          for (int64_t p = 0; p < frame.count; ++p) to[p] = static_cast<T>(from[p]);
        };
        switch (reg_class(output.dtype())) {
          case RegClass::f32: copy(frame.reg<float>(tape_.results[i])); break;
          case RegClass::f64: copy(frame.reg<double>(tape_.results[i])); break;
          case RegClass::i64: copy(frame.reg<int64_t>(tape_.results[i])); break;
          case RegClass::u64: copy(frame.reg<uint64_t>(tape_.results[i])); break;
        }
      });
    }
  }

  const Stage& stage_;
  const Tape& tape_;
  const std::vector<Tensor>& tensors_;
  Loops loops_;
  std::vector<Tensor> padded_;
  std::vector<const std::byte*> bases_;
  bool linear_ = true;
  int64_t reduce_count_ = 0;
};

}  // namespace

Evaluator::Evaluator(std::shared_ptr<const Workload> workload) : workload_(std::move(workload)) {
  for (const Stage& stage : workload_->stages) {
    tapes_.push_back(element_count(stage.axes) == 0 ? Tape{} : compile(*workload_, stage));
  }
}

Evaluator::~Evaluator() = default;

std::vector<Tensor> Evaluator::run(const std::vector<Tensor>& inputs, int threads) const {
  const Workload& workload = *workload_;
  assert(inputs.size() == workload.inputs.size());
  std::vector<Tensor> tensors(workload.values.size());
  for (size_t i = 0; i < workload.values.size(); ++i) {
    if (!workload.values[i].constant.empty()) tensors[i] = workload.values[i].constant;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    assert(inputs[i].type() == workload.values[static_cast<size_t>(workload.inputs[i])].type);
    tensors[static_cast<size_t>(workload.inputs[i])] = inputs[i];
  }
  const auto fill_views = [&] {
    for (size_t i = 0; i < workload.values.size(); ++i) {
      const int source = workload.values[i].view_of;
      if (source < 0 || !tensors[i].empty() || tensors[static_cast<size_t>(source)].empty())
        continue;
      tensors[i] = tensors[static_cast<size_t>(source)].reshaped(workload.values[i].type.shape);
    }
  };
  fill_views();
  for (size_t s = 0; s < workload.stages.size(); ++s) {
    const Stage& stage = workload.stages[s];
    std::vector<Tensor> outputs;
    for (const int id : stage.outputs) {
      outputs.emplace_back(workload.values[static_cast<size_t>(id)].type);
    }
    if (element_count(stage.axes) > 0) StageRun(stage, tapes_[s], tensors).run(threads, outputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      tensors[static_cast<size_t>(stage.outputs[i])] = outputs[i];
    }
    fill_views();
  }
  std::vector<Tensor> results;
  for (const int output : workload.outputs) results.push_back(tensors[static_cast<size_t>(output)]);
  return results;
}

}  // namespace aoe
