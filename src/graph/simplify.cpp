#include "graph/simplify.h"

#include <algorithm>

#include "device/cores.h"
#include "expr/evaluate.h"

// The simplification of a graph, in reading order:
//   Folder         one sweep over the nodes: infers types, and folds what is known
//     fold           one node: known outputs, identity, workload, or host kernel
//     renamed_       for each value the one to use instead, applied to the inputs of later nodes
//   drop_unused    backwards: removes nodes without users, and the constants of unused values
//   simplify       the passes in order; fold_into_weights is in graph/fold_weights.cpp
//
// Invariant: after each pass the graph is valid and computes the same outputs. Folding evaluates a
// node's own definition; a node beyond the budget stays as it is.

namespace aoe {
namespace {

// Budget of folding for a model, which may be untrusted: work (work_of) of a few seconds, and bytes
// of memory.
constexpr int64_t kFoldWork = 2'000'000'000;
constexpr int64_t kFoldBytes = int64_t{2} << 30;

// Infers types and folds constants in one sweep over the nodes.
class Folder {
 public:
  explicit Folder(Graph& graph) : graph_(graph), renamed_(graph.values.size()) {
    for (size_t i = 0; i < renamed_.size(); ++i) renamed_[i] = static_cast<int>(i);
  }

  void run() {
    std::vector<Node> kept;
    for (Node& node : graph_.nodes) {
      rename(node.inputs);
      for (Body& body : node.bodies) {
        rename(body.captured);
        embed_constants(body);
      }
      try {
        if (!fold(node)) kept.push_back(std::move(node));
      } catch (const Error& error) {
        throw error.within(node.describe());
      }
    }
    graph_.nodes = std::move(kept);
  }

 private:
  void rename(std::vector<int>& ids) {
    for (int& id : ids) {
      if (id >= 0) id = renamed_[static_cast<size_t>(id)];
    }
  }

  // Copies constants that a body captures into it, so that they are not passed in each run.
  void embed_constants(Body& body) {
    const bool any = std::any_of(body.captured.begin(), body.captured.end(),
                                 [&](int id) { return graph_.value(id).is_constant(); });
    if (!any) return;
    auto copy = std::make_shared<Graph>(*body.graph);
    const size_t declared = copy->inputs.size() - body.captured.size();
    std::vector<int> inputs(copy->inputs.begin(),
                            copy->inputs.begin() + static_cast<std::ptrdiff_t>(declared));
    std::vector<int> captured;
    for (size_t i = 0; i < body.captured.size(); ++i) {
      const GraphValue& outer = graph_.value(body.captured[i]);
      const int inner = copy->inputs[declared + i];
      if (outer.is_constant()) {
        copy->value(inner).constant = outer.constant;
        copy->value(inner).type = outer.type;
      } else {
        inputs.push_back(inner);
        captured.push_back(body.captured[i]);
      }
    }
    copy->inputs = std::move(inputs);
    body.captured = std::move(captured);
    body.graph = std::move(copy);
  }

  // Infers the types of a node's outputs and folds it if possible; true if it is not needed any
  // more.
  bool fold(Node& node) {
    const OpCall call = call_of(graph_, node);
    Lowered lowered = lower(*node.def, call);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] < 0 || i >= lowered.outputs.size()) continue;
      GraphValue& value = graph_.value(node.outputs[i]);
      if (lowered.complete) value.type = lowered.outputs[i];
    }
    if (!lowered.complete) return false;
    // Expressions are always pure; only host kernels may not be.
    if (!lowered.workload) return node.def->pure && fold_host(node, call, lowered);
    return fold_known_outputs(node, *lowered.workload) || fold_identity(node, lowered) ||
           fold_workload(node, call, lowered);
  }

  // Folds outputs that do not depend on the contents of any input, such as a shape.
  bool fold_known_outputs(const Node& node, const Workload& workload) {
    for (const int id : workload.outputs) {
      if (workload.values[static_cast<size_t>(workload.storage(id))].constant.empty()) return false;
    }
    for (size_t i = 0; i < workload.outputs.size(); ++i) {
      const auto& value = workload.values[static_cast<size_t>(workload.outputs[i])];
      const auto& stored =
          workload.values[static_cast<size_t>(workload.storage(workload.outputs[i]))];
      set_constant(node.outputs[i], stored.constant.reshaped(value.type.shape));
    }
    return true;
  }

  // Removes a node whose outputs are its inputs; later nodes use these instead.
  bool fold_identity(const Node& node, const Lowered& lowered) {
    const Workload& workload = *lowered.workload;
    std::vector<int> sources;
    for (const int id : workload.outputs) {
      const auto found = std::find(workload.inputs.begin(), workload.inputs.end(), id);
      if (found == workload.inputs.end()) return false;
      const auto which = static_cast<size_t>(found - workload.inputs.begin());
      sources.push_back(node.inputs[static_cast<size_t>(lowered.operands[which])]);
    }
    // The node stays if it produces an output of the graph.
    for (size_t i = 0; i < sources.size(); ++i) {
      if (!graph_.value(sources[i]).is_constant() && is_output(node.outputs[i])) return false;
    }
    for (size_t i = 0; i < sources.size(); ++i) {
      const GraphValue& source = graph_.value(sources[i]);
      if (source.is_constant()) set_constant(node.outputs[i], source.constant);
      else if (node.outputs[i] >= 0) renamed_[static_cast<size_t>(node.outputs[i])] = sources[i];
    }
    return true;
  }

  bool is_output(int id) const {
    return std::find(graph_.outputs.begin(), graph_.outputs.end(), id) != graph_.outputs.end();
  }

  static bool all_known(const OpCall& call) {
    return std::all_of(call.inputs.begin(), call.inputs.end(), [](const OpCall::Input& input) {
      return !input.present || input.value.has_value();
    });
  }

  bool fold_workload(const Node& node, const OpCall& call, Lowered& lowered) {
    if (!all_known(call)) return false;
    const int64_t work = work_of(*lowered.workload);
    int64_t bytes = 0;
    for (const auto& value : lowered.workload->values) {
      const int64_t value_bytes = bytes_of(value.type);
      bytes = checked_add(bytes, value_bytes);
    }
    if (work > work_left_ || bytes > bytes_left_) return false;
    work_left_ -= work;
    bytes_left_ -= bytes;
    std::vector<Tensor> inputs;
    for (const int operand : lowered.operands) {
      inputs.push_back(call.inputs[static_cast<size_t>(operand)].value->tensor());
    }
    const Evaluator evaluator(std::make_shared<const Workload>(std::move(*lowered.workload)));
    const std::vector<Tensor> results = evaluator.run(inputs, usable_cores());
    for (size_t i = 0; i < results.size(); ++i) set_constant(node.outputs[i], results[i]);
    return true;
  }

  // Folds host kernels without bodies on small inputs only: the time of others has no bound.
  bool fold_host(const Node& node, const OpCall& call, const Lowered& lowered) {
    constexpr int64_t kSmall = 4096;
    if (!node.bodies.empty() || !all_known(call)) return false;
    HostCall host{node.attributes, {}, call.wanted, {}};
    for (const OpCall::Input& input : call.inputs) {
      host.inputs.push_back(input.present ? *input.value : Value());
      if (input.present && input.value->tensor().count() > kSmall) return false;
    }
    for (const ValueType& type : lowered.outputs) {
      if (!type.is_static() || type.tensor().count() > kSmall) return false;
    }
    const std::vector<Value> results = lowered.host(host);
    for (const Value& result : results) {
      if (!result.is_tensor()) return false;
    }
    for (size_t i = 0; i < results.size() && i < node.outputs.size(); ++i) {
      set_constant(node.outputs[i], results[i].tensor());
    }
    return true;
  }

  void set_constant(int id, Tensor tensor) {
    if (id < 0) return;
    graph_.value(id).type = tensor.type();
    graph_.value(id).constant = std::move(tensor);
  }

  Graph& graph_;
  int64_t work_left_ = kFoldWork;
  int64_t bytes_left_ = kFoldBytes;
  std::vector<int> renamed_;  // the value to use instead of each
};

}  // namespace

void infer_and_fold(Graph& graph) { Folder(graph).run(); }

void drop_unused(Graph& graph) {
  std::vector<int> uses = use_counts(graph);
  const auto release = [&](const std::vector<int>& ids) {
    for (const int id : ids) {
      if (id >= 0) --uses[static_cast<size_t>(id)];
    }
  };
  std::vector<Node> kept;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    Node& node = graph.nodes[i];
    const bool used = std::any_of(node.outputs.begin(), node.outputs.end(), [&](int id) {
      return id >= 0 && uses[static_cast<size_t>(id)] > 0;
    });
    if (used) {
      kept.push_back(std::move(node));
      continue;
    }
    release(node.inputs);
    for (const Body& body : node.bodies) release(body.captured);
  }
  std::reverse(kept.begin(), kept.end());
  graph.nodes = std::move(kept);
  for (size_t i = 0; i < graph.values.size(); ++i) {
    if (uses[i] == 0) graph.values[i].constant = {};
  }
}

void simplify(Graph& graph) {
  infer_and_fold(graph);
  fold_into_weights(graph);
  drop_unused(graph);
}

}  // namespace aoe
