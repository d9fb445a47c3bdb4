#include "op/nn/attention.h"

#include <cmath>
#include <limits>

#include "op/families.h"
#include "op/math/matmul.h"
#include "op/operands.h"

namespace aoe {

Heads heads_of(Builder& b, const Operand& x, int64_t count) {
  if (x.rank() == 4) return {x, false};
  require(x.rank() == 3,
          "an input of shape {}; [batch, heads, length, size] or [batch, length, "
          "heads x size] is expected",
          to_string(x.shape));
  require(count > 0 && x.shape[2] % count == 0, "{} elements cannot be divided into {} heads",
          x.shape[2], count);
  return {b.reshape(x, {x.shape[0], x.shape[1], count, x.shape[2] / count}), true};
}

double default_scale(int64_t size) {
  return size > 0 ? 1 / std::sqrt(static_cast<double>(size)) : 1;
}

std::vector<Operand> scaled_scores(Builder& b, const Heads& queries, const Heads& keys,
                                   double scale, const Scores& results) {
  require(keys.batch() == queries.batch() && keys.size() == queries.size(),
          "queries {} and keys {} do not fit", to_string(queries.x.shape), to_string(keys.x.shape));
  require(keys.count() > 0 && queries.count() % keys.count() == 0,
          "{} query heads cannot share {} key heads", queries.count(), keys.count());
  const int64_t group = queries.count() / keys.count();
  // ONNX multiplies both sides by sqrt(scale) before the product. That matters only in floats
  // narrower than f32, where it rounds; otherwise the sum is scaled.
  const DType dtype = queries.x.dtype;
  const DType type = product_type(dtype);
  const bool narrow = type != dtype;
  const Expr root = cast(dtype, Expr::constant(type, std::sqrt(std::abs(scale))));
  return b.reduce_all(
      sum_of(type), {queries.batch(), keys.count(), group, queries.length(), keys.length()},
      {queries.size()},
      [&](const Axes& o, const Axes& in) {
        const Expr q = queries.at(o[0], o[1] * group + o[2], o[3], in[0]);
        const Expr k = keys.at(o[0], o[1], o[4], in[0]);
        return std::vector{narrow ? product(q * root, k * (scale < 0 ? -root : root))
                                  : product(q, k)};
      },
      [&](const Axes& o, const std::vector<Expr>& sum) {
        return results(o, narrow ? cast(type, cast(dtype, sum[0])) : sum[0] * scale);
      });
}

DType softmax_type(const OpContext& op, DType otherwise) {
  const int64_t code = op.integer("softmax_precision", 0);
  switch (code) {
    case 0: return otherwise;
    case 1: return DType::f32;
    case 10: return DType::f16;
    case 11: return DType::f64;
    case 16: return DType::bf16;
    default: fail("softmax_precision is {}; 1, 10, 11 or 16 are expected", code);
  }
}

Operand shares(Builder& b, const Operand& scores) {
  const Shape rows(scores.shape.begin(), scores.shape.end() - 1);
  const Shape row{scores.shape.back()};
  const auto at = [&](Axes out, const Expr& last) {
    out.push_back(last);
    return scores(out);
  };
  const Operand most = b.reduce(max_of(scores.dtype), rows, row,
                                [&](const Axes& out, const Axes& in) { return at(out, in[0]); });
  const auto power = [&](const Axes& out, const Expr& last) {
    const Expr highest_score = most(out);
    const Expr nothing = eq(highest_score, lowest(scores.dtype));
    return exp(at(out, last) - select(nothing, number_like(highest_score, 0), highest_score));
  };
  const Operand total =
      b.reduce(sum_of(scores.dtype), rows, row,
               [&](const Axes& out, const Axes& in) { return power(out, in[0]); });
  return b.compute(scores.shape, [&](const Axes& out) {
    const Axes point(out.begin(), out.end() - 1);
    const Expr sum = total(point);
    return power(point, out.back()) / select(eq(sum, 0), number_like(sum, 1), sum);
  });
}

Operand weighted_values(Builder& b, const Operand& weights, const Heads& values, DType dtype,
                        bool packed) {
  const int64_t group = weights.shape[2];
  const int64_t queries = weights.shape[3];
  const Shape shape = packed ? Shape{values.batch(), queries, values.count(), group, values.size()}
                             : Shape{values.batch(), values.count(), group, queries, values.size()};
  const Operand y =
      contraction(b, dtype, shape, {values.length()}, [&](const Axes& o, const Axes& in) {
        const Axes at =
            packed ? Axes{o[0], o[2], o[3], o[1], in[0]} : Axes{o[0], o[1], o[2], o[3], in[0]};
        return product(weights(at), values.at(o[0], at[1], in[0], o[4]));
      });
  const int64_t heads = values.count() * group;
  return b.reshape(y, packed ? Shape{values.batch(), queries, heads * values.size()}
                             : Shape{values.batch(), heads, queries, values.size()});
}

namespace {

enum Input : uint8_t { kQuery, kKey, kValue, kMask, kPastKey, kPastValue, kValidLength };
enum ScoreOutput : uint8_t { kRaw, kCapped, kBiased, kShares };

// Concatenates past and new positions: [batch, heads, length, size].
Heads continued(OpContext& op, int past_input, const Heads& now) {
  const Operand past = op.in(past_input);
  const Shape expected{now.batch(), now.count(), past.rank() == 4 ? past.shape[2] : 0, now.size()};
  require(past.shape == expected, "input {} has shape {}, not {}", past_input,
          to_string(past.shape), to_string(expected));
  const int64_t before = expected[2];
  Shape shape = expected;
  shape[2] = checked_add(before, now.length());
  return {op.compute(shape, [&](const Axes& i) {
    return select(lt(i[2], before), past(i), now.at(i[0], i[1], i[2] - before, i[3]));
  })};
}

Operand unpacked(Builder& b, const Heads& x) {
  if (!x.packed) return x.x;
  return b.compute({x.batch(), x.count(), x.length(), x.size()},
                   [&](const Axes& i) { return x.at(i[0], i[1], i[2], i[3]); });
}

// An attention mask. Its axes broadcast, except the last: positions beyond its end are hidden.
struct Mask {
  Operand x;
  bool choice;  // boolean: positions to attend to, otherwise a bias to add

  Expr at(const Expr& b, const Expr& head, const Expr& query, const Expr& position) const {
    const Expr point[] = {b, head, query, position};
    Axes index;
    const size_t skipped = 4 - x.shape.size();
    for (size_t i = 0; i < x.shape.size(); ++i) {
      const bool last = i + 1 == x.shape.size();
      index.push_back(x.shape[i] == 1 && !last ? Expr::integer(DType::i64, 0) : point[skipped + i]);
    }
    return x.or_outside(index, choice ? Expr::integer(DType::boolean, 0) : lowest(x.dtype));
  }
};

std::optional<Mask> mask_in(OpContext& op, const Shape& scores) {
  if (!op.has(kMask)) return std::nullopt;
  const Operand mask = op.in(kMask);
  bool fits = mask.rank() >= 1 && mask.rank() <= 4 && mask.shape.back() <= scores[3];
  for (size_t i = 0; fits && i + 1 < mask.shape.size(); ++i) {
    const int64_t extent = scores[4 - mask.shape.size() + i];
    fits = mask.shape[i] == 1 || mask.shape[i] == extent;
  }
  require(fits, "a mask of shape {} does not broadcast to {}", to_string(mask.shape),
          to_string(scores));
  return Mask{mask, mask.dtype == DType::boolean};
}

// The positions that a query may attend to according to their order.
struct Reach {
  bool causal;
  int64_t left;                  // window size before the query's position; -1: unlimited
  int64_t right;                 // after it; -1: unlimited
  int64_t past;                  // positions before the first query
  std::optional<Operand> valid;  // per batch element: number of valid keys
  int64_t queries;

  // Returns the condition, or an empty Expr if all positions are visible.
  Expr seen(const Expr& b, const Expr& query, const Expr& position) const {
    Expr result;
    const auto also = [&](const Expr& condition) {
      result = result ? result & condition : condition;
    };
    const Expr valid_here = valid ? cast(DType::i64, (*valid)({b})) : Expr{};
    const Expr here = valid ? query + (valid_here - queries) : query + past;
    if (causal) also(le(position, here));
    if (left >= 0) also(le(here - position, left));
    if (right >= 0) also(le(position - here, right));
    if (valid) also(lt(position, valid_here));
    return result;
  }
};

Reach reach_of(OpContext& op, const Heads& q, const Heads& new_keys, const Heads& keys) {
  Reach reach{op.flag("is_causal", false),
              op.integer("left_window_size", -1),
              op.integer("right_window_size", -1),
              keys.length() - new_keys.length(),
              std::nullopt,
              q.length()};
  require(reach.left >= -1 && reach.right >= -1, "a window of {} to the left and {} to the right",
          reach.left, reach.right);
  if (op.has(kValidLength)) {
    require(!op.has(kPastKey), "nonpad_kv_seqlen cannot go with past keys");
    reach.valid = op.in(kValidLength);
    require(reach.valid->shape == Shape{q.batch()}, "nonpad_kv_seqlen has shape {}, not [{}]",
            to_string(reach.valid->shape), q.batch());
  }
  return reach;
}

void attention(OpContext& op) {
  const Operand query = float_in(op, kQuery);
  const Heads q = heads_of(op, query, op.integer("q_num_heads", 0));
  const Heads new_keys = heads_of(op, op.in(kKey), op.integer("kv_num_heads", 0));
  const Heads new_values = heads_of(op, op.in(kValue), op.integer("kv_num_heads", 0));
  require(q.packed == new_keys.packed && q.packed == new_values.packed,
          "query, key and value have different ranks");
  require(op.has(kPastKey) == op.has(kPastValue), "past keys and past values belong together");
  const Heads keys = op.has(kPastKey) ? continued(op, kPastKey, new_keys) : new_keys;
  const Heads values = op.has(kPastValue) ? continued(op, kPastValue, new_values) : new_values;
  require(values.batch() == q.batch() && keys.count() == values.count() &&
              keys.length() == values.length(),
          "keys {} and values {} do not fit", to_string(keys.x.shape), to_string(values.x.shape));
  const Shape flat{q.batch(), q.count(), q.length(), keys.length()};
  const auto mask = mask_in(op, flat);
  const Reach reach = reach_of(op, q, new_keys, keys);
  const double cap = op.real("softcap", 0);
  const int64_t shown = op.integer("qk_matmul_output_mode", 0);
  require(shown >= kRaw && shown <= kShares, "qk_matmul_output_mode is {}; 0 to 3 are expected",
          shown);

  // Scale, cap, mask and bias are the epilogue of the product: one stage up to the softmax.
  const auto scores = scaled_scores(
      op, q, keys, op.real("scale", default_scale(q.size())), [&](const Axes& o, const Expr& raw) {
        const Expr capped = cap > 0 ? cap * tanh(raw / cap) : raw;
        Expr biased = capped;
        Expr seen = reach.seen(o[0], o[3], o[4]);
        if (mask) {
          const Expr head = o[1] * (q.count() / keys.count()) + o[2];
          const Expr element = mask->at(o[0], head, o[3], o[4]);
          if (mask->choice) seen = seen ? seen & element : element;
          else biased = biased + cast(raw.dtype(), element);
        }
        if (seen) biased = select(seen, biased, lowest(raw.dtype()));
        std::vector<Expr> results{biased};
        if (op.wants(3) && shown != kShares) {
          const Expr output = shown == kRaw ? raw : shown == kCapped ? capped : biased;
          results.push_back(cast(query.dtype, output));
        }
        return results;
      });

  const DType precision = softmax_type(op, query.dtype);
  const Operand weights = op.cast_to(shares(op, op.cast_to(scores[0], precision)), query.dtype);

  op.out(weighted_values(op, weights, values, query.dtype, q.packed));
  op.out(op.wants(1) ? unpacked(op, keys) : keys.x);
  op.out(op.wants(2) ? unpacked(op, values) : values.x);
  op.out(op.reshape(scores.size() > 1 ? scores[1] : weights, flat));
}

}  // namespace

const OpTable& attention_operators() {
  static const OpTable table{
      {"Attention", 23, attention},
      {"FlexAttention", 1, flex_attention, "ai.onnx.preview"},
  };
  return table;
}

}  // namespace aoe
