#pragma once

#include "expr/builder.h"

namespace aoe {

class OpContext;

// Queries, keys or values: [batch, heads, length, size], or packed as [batch, length, heads, size].
struct Heads {
  Operand x;
  bool packed = false;

  int64_t batch() const { return x.shape[0]; }
  int64_t count() const { return x.shape[packed ? 2 : 1]; }
  int64_t length() const { return x.shape[packed ? 1 : 2]; }
  int64_t size() const { return x.shape[3]; }

  Expr at(const Expr& b, const Expr& head, const Expr& position, const Expr& i) const {
    return packed ? x({b, position, head, i}) : x({b, head, position, i});
  }
};

// Splits [batch, length, hidden] into heads; a tensor of rank 4 is used as it is.
Heads heads_of(Builder& b, const Operand& x, int64_t count);

// Scaled products of queries and keys: [batch, kv heads, query heads per kv head, queries, keys].
// `results` is the epilogue: it returns the values to store for a score.
using Scores = std::function<std::vector<Expr>(const Axes& point, const Expr& score)>;
std::vector<Operand> scaled_scores(Builder& b, const Heads& queries, const Heads& keys,
                                   double scale, const Scores& results);
// The scale if the model states none: 1 / sqrt(size of a head).
double default_scale(int64_t size);

// Returns the type that the attribute `softmax_precision` names.
DType softmax_type(const OpContext& op, DType otherwise);

// Softmax along the last axis, but zeros if all elements are -infinity (a fully masked row).
Operand shares(Builder& b, const Operand& scores);

// Sums `weights` [batch, kv heads, group, queries, positions] times values over the positions. The
// result is [batch, heads, queries, size], or [batch, queries, heads x size] if `packed`.
Operand weighted_values(Builder& b, const Operand& weights, const Heads& values, DType dtype,
                        bool packed);

void flex_attention(OpContext& op);

}  // namespace aoe
