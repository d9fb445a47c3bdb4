#include <algorithm>

#include "plan/copied_runs.h"
#include "plan/plan.h"

// Assigns buffers to values. Values form trees: a value lies inside another if it is a slice or a
// reshape of it, or if the other is a concatenation that includes it. Each tree has one buffer,
// that of its root. In the order of `run`: note what each value is and which steps only copy, keep
// separate Values apart, `link` values into trees, place the roots.

namespace aoe {
namespace {

using Kind = PlanStep::Kind;
using Storage = BufferAssignment::Storage;

class Placer {
 public:
  Placer(Plan& plan, const Graph& graph)
      : plan_(plan), graph_(graph), values_(graph.values.size()), runs_(plan.steps.size()) {}

  void run() {
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      const GraphValue& value = graph_.values[i];
      if (!value.is_constant()) continue;
      values_[i].storage =
          value.constant.dtype() == DType::string ? Storage::separate : Storage::constant;
    }
    for (size_t i = 0; i < graph_.inputs.size(); ++i) note_input(static_cast<int>(i));
    for (size_t s = 0; s < plan_.steps.size(); ++s) note_step(static_cast<int>(s));
    // A reshape of a separate Value is separate too, and so is what a separate Value reshapes.
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t s = 0; s < plan_.steps.size(); ++s) changed = keep_apart(s) || changed;
    }
    for (size_t s = 0; s < plan_.steps.size(); ++s) link(s);
    place_outputs();
    place_others();
  }

 private:
  struct Info {
    Storage storage = Storage::nothing;  // of a root; nothing: not decided yet
    int index = -1;                      // as in BufferAssignment
    int64_t bytes = 0;
    int first = -1;      // step that computes it
    int last = -1;       // step that reads it last
    int inside = -1;     // parent in the tree: the value that this one is a part of
    int64_t offset = 0;  // in bytes from the start of the parent
  };

  Info& info_of(int value) { return values_[static_cast<size_t>(value)]; }
  static int64_t width_of(const Task& task, int value) {
    return info(task.workload.values[static_cast<size_t>(value)].type.dtype).bytes;
  }
  static int64_t bytes_of(const TensorType& type) {
    return checked_mul(type.count(), info(type.dtype).bytes);
  }

  void note_input(int i) {
    const int id = graph_.inputs[static_cast<size_t>(i)];
    const ValueType& type = graph_.value(id).type;
    Info& input = info_of(id);
    input.index = i;
    input.storage = Storage::separate;
    if (!type.is_static() || type.dtype == DType::string) return;
    // A caller's bools may be any bytes. Kernels expect 0 or 1, and read a normalized copy.
    input.storage = type.dtype == DType::boolean ? Storage::arena : Storage::input;
    input.bytes = bytes_of(type.tensor());
  }

  void note_step(int s) {
    const PlanStep& step = plan_.steps[static_cast<size_t>(s)];
    const bool task = step.kind == Kind::workload;
    for (const int id : values_read(step, graph_)) {
      if (id < 0) continue;
      info_of(id).last = s;
      if (!task && info_of(id).storage == Storage::nothing) info_of(id).storage = Storage::separate;
    }
    const std::vector<int>& made = values_made(step, graph_);
    for (size_t i = 0; i < made.size(); ++i) {
      if (made[i] < 0) continue;
      Info& value = info_of(made[i]);
      value.first = s;
      value.last = std::max(value.last, s);
      if (!task) {
        value.storage = Storage::separate;
        const ValueType& type = graph_.value(made[i]).type;
        if (type.is_static() && type.dtype != DType::string) value.bytes = bytes_of(type.tensor());
        continue;
      }
      const Workload& workload = step.task.workload;
      value.bytes = bytes_of(workload.values[static_cast<size_t>(workload.outputs[i])].type);
    }
    if (!task) return;
    auto& runs = runs_[static_cast<size_t>(s)];
    for (size_t i = 0; i < made.size(); ++i) {
      runs.push_back(copied_runs(step.task.workload, i));
    }
  }

  // Whether an output is all of one input, possibly in another shape.
  bool is_whole(size_t s, size_t output) {
    const auto& runs = runs_[s][output];
    if (!runs || runs->size() != 1) return false;
    const Task& task = plan_.steps[s].task;
    return info_of(task.outputs[output]).bytes == info_of(task.inputs[runs->front().input]).bytes;
  }

  bool keep_apart(size_t s) {
    bool changed = false;
    const Task& task = plan_.steps[s].task;
    for (size_t i = 0; i < runs_[s].size(); ++i) {
      if (!is_whole(s, i)) continue;
      Info& to = info_of(task.outputs[i]);
      Info& from = info_of(task.inputs[runs_[s][i]->front().input]);
      if (to.storage == Storage::separate && from.storage == Storage::nothing) {
        from.storage = Storage::separate;
        changed = true;
      }
      if (from.storage == Storage::separate && to.storage == Storage::nothing) {
        to.storage = Storage::separate;
        changed = true;
      }
    }
    return changed;
  }

  // The topmost ancestor with the same bytes as the value (reshapes of each other). Moving the
  // value means moving that one.
  int whole_of(int value) {
    while (info_of(value).inside >= 0 &&
           info_of(info_of(value).inside).bytes == info_of(value).bytes) {
      value = info_of(value).inside;
    }
    return value;
  }

  // Whether a run is all of an input that has no buffer yet, so that it can become part of the
  // output.
  bool can_be_placed(const Task& task, const CopiedRun& run) {
    const int from = task.inputs[run.input];
    const int whole = whole_of(from);
    const int64_t width = width_of(task, task.workload.inputs[run.input]);
    return run.count * width == info_of(from).bytes && info_of(whole).inside < 0 &&
           info_of(whole).storage == Storage::nothing;
  }

  bool can_be_in_place(size_t s, size_t output) {
    const Task& task = plan_.steps[s].task;
    const auto& runs = runs_[s][output];
    if (!runs) return false;
    const Info& to = info_of(task.outputs[output]);
    if (runs->size() == 1) {
      const Storage from = info_of(whole_of(task.inputs[runs->front().input])).storage;
      if (to.storage == Storage::separate) return is_whole(s, output) && from != Storage::constant;
      return from != Storage::constant && from != Storage::separate;
    }
    return to.storage == Storage::nothing &&
           std::any_of(runs->begin(), runs->end(),
                       [&](const CopiedRun& run) { return can_be_placed(task, run); });
  }

  // Makes a step that only copies `in_place`: an output becomes part of the input that it is a
  // slice or reshape of, the inputs of a concatenation become parts of its output. Runs that cannot
  // be placed are listed as copies.
  void link(size_t s) {
    PlanStep& step = plan_.steps[s];
    if (step.kind != Kind::workload) return;
    for (size_t i = 0; i < runs_[s].size(); ++i) {
      if (!can_be_in_place(s, i)) return;
    }
    step.kind = Kind::in_place;
    for (size_t i = 0; i < runs_[s].size(); ++i) {
      const int to = step.task.outputs[i];
      const int64_t width = width_of(step.task, step.task.workload.outputs[i]);
      if (runs_[s][i]->size() == 1) {
        const CopiedRun& run = runs_[s][i]->front();
        if (info_of(to).storage == Storage::separate) {
          step.copies.push_back({step.task.inputs[run.input], 0, to, 0, info_of(to).bytes});
          continue;
        }
        info_of(to).inside = step.task.inputs[run.input];
        info_of(to).offset = run.from * width;
        continue;
      }
      for (const CopiedRun& run : *runs_[s][i]) {
        const int from = step.task.inputs[run.input];
        if (can_be_placed(step.task, run)) {
          info_of(whole_of(from)).inside = to;
          info_of(whole_of(from)).offset = run.to * width;
        } else {
          step.copies.push_back({from, run.from * width, to, run.to * width, run.count * width});
        }
      }
    }
  }

  int root_of(int value) {
    while (info_of(value).inside >= 0) value = info_of(value).inside;
    return value;
  }

  // Places the tree of an output in the caller's memory if the root is no larger than the output.
  // Other outputs are copied at the end.
  void place_outputs() {
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      const int id = graph_.outputs[i];
      Info& root = info_of(root_of(id));
      if (info_of(id).storage == Storage::separate) continue;
      if (root.storage == Storage::nothing && root.bytes == info_of(id).bytes) {
        root.storage = Storage::output;
        root.index = static_cast<int>(i);
      } else {
        info_of(id).last = static_cast<int>(plan_.steps.size());
        plan_.copied_outputs.push_back(static_cast<int>(i));
      }
    }
  }

  void place_others() {
    std::vector<Lifetime> lifetimes(values_.size(), {0, -1, -1});  // of trees, by root
    for (size_t i = 0; i < values_.size(); ++i) {
      if (values_[i].last < 0) continue;
      Lifetime& tree = lifetimes[static_cast<size_t>(root_of(static_cast<int>(i)))];
      const int first = std::max(values_[i].first, 0);
      tree.first = tree.first < 0 ? first : std::min(tree.first, first);
      tree.last = std::max(tree.last, values_[i].last);
    }
    for (size_t i = 0; i < values_.size(); ++i) {
      Info& root = values_[i];
      const bool in_arena =
          (root.storage == Storage::nothing && root.first >= 0) || root.storage == Storage::arena;
      if (root.inside >= 0 || !in_arena) continue;
      if (lifetimes[i].last < 0) {  // an input that no step reads
        root = {};
        continue;
      }
      root.storage = Storage::arena;
      root.index = static_cast<int>(plan_.buffers.size());
      plan_.buffers.push_back({root.bytes, lifetimes[i].first, lifetimes[i].last});
    }
    for (size_t i = 0; i < values_.size(); ++i) {
      int64_t offset = 0;
      int at = static_cast<int>(i);
      for (; info_of(at).inside >= 0; at = info_of(at).inside) offset += info_of(at).offset;
      plan_.assignments.push_back({info_of(at).storage, info_of(at).index, offset});
    }
  }

  Plan& plan_;
  const Graph& graph_;
  std::vector<Info> values_;
  std::vector<std::vector<std::optional<std::vector<CopiedRun>>>> runs_;  // by step, by output
};

}  // namespace

void assign_buffers(Plan& plan, const Graph& graph) { Placer(plan, graph).run(); }

}  // namespace aoe
