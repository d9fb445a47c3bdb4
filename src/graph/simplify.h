#pragma once

#include "graph/graph.h"

namespace aoe {

// Simplifies a graph without changing its results: infers types, folds constants (above all shape
// arithmetic), removes identities and unused nodes, and moves constant arithmetic after
// convolutions into their weights. Nodes that depend on open dimensions stay as they are.
void simplify(Graph& graph);

// The passes of simplify, in their order. Each leaves a valid graph.
void infer_and_fold(Graph& graph);
void fold_into_weights(Graph& graph);
void drop_unused(Graph& graph);

}  // namespace aoe
