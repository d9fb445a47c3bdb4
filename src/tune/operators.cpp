#include "tune/operators.h"

#include <algorithm>
#include <map>

namespace aoe {
namespace {

// A node without a name has that of what it makes.
const std::string& name_of(const Node& node, const Graph& graph) {
  if (!node.name.empty() || node.outputs.empty() || node.outputs[0] < 0) return node.name;
  return graph.value(node.outputs[0]).name;
}

}  // namespace

std::vector<Operator> operators_of(const Executable& executable) {
  std::vector<Operator> operators;
  std::map<std::string, size_t> known;
  for (const StepSeen& step : executable.steps()) {
    if (!step.compiled) continue;
    std::string text = to_string(*step.workload);
    const auto [place, fresh] = known.emplace(text, operators.size());
    if (fresh) {
      Operator& added = operators.emplace_back();
      added.workload = step.workload;
      added.text = std::move(text);
      for (const Node* node : step.nodes) {
        added.name += name_of(*node, executable.graph());
        const auto& types = added.types;
        if (std::find(types.begin(), types.end(), node->def->name) == types.end()) {
          added.types.emplace_back(node->def->name);
        }
      }
    }
    operators[place->second].steps.push_back(step.index);
  }
  return operators;
}

}  // namespace aoe
