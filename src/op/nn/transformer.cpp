#include <cmath>

#include "op/context.h"
#include "op/families.h"
#include "op/joined.h"
#include "op/math/matmul.h"
#include "op/nn/attention.h"
#include "op/nn/recurrent.h"
#include "op/tensor/movement.h"

namespace aoe {
namespace {

// Rotates pairs of elements by an angle that depends on the position of the token.
void rotary_embedding(OpContext& op) {
  const Operand input = op.in(0);
  const Operand cosines = op.in(1);
  const Operand sines = op.in(2);
  const Heads x = heads_of(op, input, op.integer("num_heads", 0));
  int64_t turned = op.integer("rotary_embedding_dim", 0);
  if (turned == 0) turned = x.size();
  require(turned > 0 && turned <= x.size() && turned % 2 == 0,
          "{} of {} elements cannot be turned in pairs", turned, x.size());
  const int64_t half = turned / 2;
  const bool by_id = op.has(3);
  const Shape tokens{x.batch(), x.length()};
  const bool fits = by_id ? cosines.rank() == 2 && cosines.shape[1] == half
                          : cosines.shape == joined(tokens, {half});
  require(fits && cosines.shape == sines.shape && (!by_id || op.shape(3) == tokens),
          "caches of shapes {} and {} for {} pairs of each of {} tokens", to_string(cosines.shape),
          to_string(sines.shape), half, to_string(tokens));
  std::optional<Operand> ids;
  if (by_id) ids = op.in(3);

  const bool interleaved = op.flag("interleaved", false);
  const DType type = product_type(input.dtype);
  Shape lead(x.x.shape.begin(), x.x.shape.end() - 1);
  // The last two axes: side and pair in their order in memory.
  const Operand pairs =
      op.compute(joined(lead, interleaved ? Shape{half, 2} : Shape{2, half}), [&](const Axes& o) {
        const Expr& pair = o[interleaved ? 3 : 4];
        const Expr& side = o[interleaved ? 4 : 3];
        const Expr& token = o[x.packed ? 1 : 2];
        const auto element = [&](const Expr& which) {
          const Expr i = interleaved ? pair * 2 + which : which * half + pair;
          return cast(type, x.x({o[0], o[1], o[2], i}));
        };
        const auto cached = [&](const Operand& cache) {
          if (!ids) return cast(type, cache({o[0], token, pair}));
          return cast(type, cache({cast(DType::i64, (*ids)({o[0], token})), pair}));
        };
        const Expr same = element(side) * cached(cosines);
        const Expr other = element(1 - side) * cached(sines);
        return cast(input.dtype, select(eq(side, 0), same - other, same + other));
      });
  const Operand rotated = op.reshape(pairs, joined(lead, {turned}));
  const Operand y = turned == x.size()
                        ? rotated
                        : concat(op, {rotated, slice(op, x.x, -1, turned, x.size() - turned)}, -1);
  op.out(op.reshape(y, input.shape));
}

// A scatter as a gather: each position of the cache loads from the update if that covers it, and
// keeps its old value otherwise.
void tensor_scatter(OpContext& op) {
  const Operand past = op.movable(0);
  const Operand update = op.movable(1);
  const std::string mode = op.text("mode", "linear");
  require(mode == "linear" || mode == "circular", "mode is '{}'; linear or circular are expected",
          mode);
  const auto axis = static_cast<size_t>(normalize_axis(op.integer("axis", -2), past.rank()));
  require(axis > 0, "axis 0 is the batch; the sequence lies along another one");
  Shape expected = past.shape;
  if (update.rank() == past.rank()) expected[axis] = update.shape[axis];
  require(update.shape == expected && update.shape[axis] <= past.shape[axis] &&
              update.dtype == past.dtype,
          "an update of shape {} for a cache of shape {}", to_string(update.shape),
          to_string(past.shape));
  std::optional<Operand> starts;
  if (op.has(2)) {
    starts = op.in(2);
    require(starts->shape == Shape{past.shape[0]}, "write_indices has shape {}, not [{}]",
            to_string(starts->shape), past.shape[0]);
  }
  const int64_t written = update.shape[axis];
  op.out(op.compute(past.shape, [&](const Axes& o) {
    Axes index = o;
    if (starts) index[axis] = o[axis] - cast(DType::i64, (*starts)({o[0]}));
    if (mode == "circular") index[axis] = mod(index[axis], past.shape[axis]);
    const Expr fresh = le(0, index[axis]) & lt(index[axis], written);
    return select(fresh, update.or_outside(index, Expr::integer(update.dtype, 0)), past(o));
  }));
}

// The inputs of the recurrence of linear attention, by token, all in f32.
struct Tokens {
  Heads query;
  Heads key;
  Heads value;
  std::optional<Heads> kept;  // decay of the state: [batch, length, kv heads, 1 or key size]
  std::optional<Heads> rate;  // [batch, length, 1 or kv heads, 1]
  int64_t group;              // query heads per key head
  double scale;

  static Expr at(const Heads& x, const Expr& b, const Expr& head, int64_t time, const Expr& i) {
    const Expr zero = Expr::integer(DType::i64, 0);
    return x.at(b, x.count() == 1 ? zero : head, Expr::integer(DType::i64, time),
                x.size() == 1 ? zero : i);
  }
};

Heads packed_in(OpContext& op, int input, int64_t heads) {
  const Operand x = op.in(input);
  require(x.rank() == 3, "input {} has shape {}; [batch, length, heads x size] is expected", input,
          to_string(x.shape));
  return heads_of(op, op.cast_to(x, DType::f32), heads);
}

Tokens tokens_of(OpContext& op) {
  const int64_t query_heads = op.integer("q_num_heads");
  const int64_t heads = op.integer("kv_num_heads");
  require(heads > 0 && query_heads > 0 && query_heads % heads == 0,
          "{} query heads cannot share {} key heads", query_heads, heads);
  const std::string rule = op.text("update_rule", "gated_delta");
  const bool gated = rule == "gated" || rule == "gated_delta";
  const bool delta = rule == "delta" || rule == "gated_delta";
  require(gated || delta || rule == "linear",
          "update_rule is '{}'; linear, gated, delta or gated_delta are expected", rule);
  require(op.has(4) == gated, "update_rule '{}' {} decay", rule, gated ? "needs" : "takes no");
  require(op.has(5) == delta, "update_rule '{}' {} beta", rule, delta ? "needs" : "takes no");

  Tokens t{packed_in(op, 0, query_heads), packed_in(op, 1, heads), packed_in(op, 2, heads), {}, {},
           query_heads / heads,           op.real("scale", 0)};
  const Shape tokens{t.query.batch(), t.query.length()};
  const auto fits = [&](const Heads& x) {
    return x.batch() == tokens[0] && x.length() == tokens[1];
  };
  require(t.query.size() == t.key.size() && fits(t.key) && fits(t.value),
          "query {}, key {} and value {} do not fit", to_string(op.shape(0)),
          to_string(op.shape(1)), to_string(op.shape(2)));
  if (t.scale == 0 && t.key.size() > 0) t.scale = 1 / std::sqrt(static_cast<double>(t.key.size()));
  if (gated) {
    const Heads decay = packed_in(op, 4, heads);
    require(fits(decay) && (decay.size() == 1 || decay.size() == t.key.size()),
            "decay has shape {} for {} heads of {} elements", to_string(op.shape(4)), heads,
            t.key.size());
    t.kept = Heads{op.map(decay.x, [](const Expr& e) { return exp(e); }), true};
  }
  if (delta) {
    const Operand beta = op.in(5);
    require(beta.rank() == 3 && (beta.shape[2] == heads || beta.shape[2] == 1),
            "beta has shape {} for {} heads", to_string(beta.shape), heads);
    t.rate = packed_in(op, 5, beta.shape[2]);
    require(fits(*t.rate), "beta has shape {} for {} tokens", to_string(beta.shape),
            to_string(tokens));
  }
  return t;
}

// Returns the state [batch, heads, key size, value size] after one more token.
Operand updated(Builder& b, const Tokens& t, const Operand& state, int64_t time) {
  const auto kept_state = [&](const Expr& batch, const Expr& head, const Expr& k, const Expr& v) {
    const Expr element = state({batch, head, k, v});
    return t.kept ? element * Tokens::at(*t.kept, batch, head, time, k) : element;
  };
  const auto key = [&](const Expr& batch, const Expr& head, const Expr& k) {
    return Tokens::at(t.key, batch, head, time, k);
  };
  std::optional<Operand> recalled;  // the value stored in the state for this key
  if (t.rate) {
    recalled = b.reduce(sum_of(DType::f32), {state.shape[0], state.shape[1], state.shape[3]},
                        {state.shape[2]}, [&](const Axes& o, const Axes& in) {
                          return kept_state(o[0], o[1], in[0], o[2]) * key(o[0], o[1], in[0]);
                        });
  }
  return b.compute(state.shape, [&](const Axes& o) {
    Expr value = Tokens::at(t.value, o[0], o[1], time, o[3]);
    if (t.rate) {
      value =
          Tokens::at(*t.rate, o[0], o[1], time, o[3]) * (value - (*recalled)({o[0], o[1], o[3]}));
    }
    return kept_state(o[0], o[1], o[2], o[3]) + key(o[0], o[1], o[2]) * value;
  });
}

// Query heads times state: [batch, 1, query heads x value size].
Operand read(Builder& b, const Tokens& t, const Operand& state, int64_t time) {
  const Operand y = b.reduce_all(
      sum_of(DType::f32), {state.shape[0], state.shape[1], t.group, state.shape[3]},
      {state.shape[2]},
      [&](const Axes& o, const Axes& in) {
        return std::vector{Tokens::at(t.query, o[0], o[1] * t.group + o[2], time, in[0]) *
                           state({o[0], o[1], in[0], o[3]})};
      },
      [&](const Axes&, const std::vector<Expr>& sum) { return std::vector{sum[0] * t.scale}; })[0];
  return b.reshape(y, {state.shape[0], 1, t.query.count() * state.shape[3]});
}

void linear_attention(OpContext& op) {
  const Tokens t = tokens_of(op);
  check_steps(t.query.length());
  const DType dtype = op.dtype(0);
  const DType state_dtype = op.has(3) ? op.dtype(3) : dtype;
  const Shape shape{t.query.batch(), t.key.count(), t.key.size(), t.value.size()};
  Operand state;
  if (op.has(3)) {
    state = op.cast_to(op.in(3), DType::f32);
    require(state.shape == shape, "past_state has shape {}, not {}", to_string(state.shape),
            to_string(shape));
  } else {
    state = op.compute(shape, [](const Axes&) { return Expr::integer(DType::f32, 0); });
  }
  std::vector<Operand> outputs;
  for (int64_t time = 0; time < t.query.length(); ++time) {
    state = updated(op, t, state, time);
    outputs.push_back(read(op, t, state, time));
  }
  if (outputs.empty()) {
    outputs.push_back(op.compute({shape[0], 0, t.query.count() * shape[3]},
                                 [](const Axes&) { return Expr::integer(DType::f32, 0); }));
  }
  op.out(op.cast_to(concat(op, outputs, 1), dtype));
  op.out(op.cast_to(state, state_dtype));
}

}  // namespace

const OpTable& transformer_operators() {
  static const OpTable table{
      {"LinearAttention", 27, linear_attention},
      {"RotaryEmbedding", 23, rotary_embedding},
      {"TensorScatter", 24, tensor_scatter},
  };
  return table;
}

}  // namespace aoe
