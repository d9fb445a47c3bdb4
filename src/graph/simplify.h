#pragma once

#include "graph/graph.h"

namespace aoe {

// Makes a graph with static input types as small as it can be without changing what it computes:
// types are inferred, what is known becomes constant (shape arithmetic above all), identities and
// unused nodes go, and constant arithmetic behind convolutions moves into their weights.
void simplify(Graph& graph);

// The steps, in the order in which they run. Each leaves a valid graph.
void infer_and_fold(Graph& graph);
void fold_into_weights(Graph& graph);
void drop_unused(Graph& graph);

}  // namespace aoe
