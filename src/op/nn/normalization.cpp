#include <algorithm>

#include "op/families.h"
#include "op/math/reduction.h"
#include "op/operands.h"

namespace aoe {
namespace {

// Mean and variance along some axes, which remain with extent 1; in the wide type.
struct Moments {
  Operand mean;
  Operand variance;
};

Moments moments(Builder& b, const Operand& x, const std::vector<int64_t>& axes) {
  const DType wide = wide_type(x.dtype);
  const ReducedAxes layout(x.shape, axes, true);
  const auto averaged = [&](const std::function<Expr(const Axes&, const Expr&)>& element) {
    return b.reduce_all(
        sum_of(wide), layout.kept(), layout.over(),
        [&](const Axes& out, const Axes& in) {
          return std::vector{element(out, cast(wide, x(layout.index(out, in))))};
        },
        [&](const Axes&, const std::vector<Expr>& r) {
          return std::vector{r[0] / layout.count()};
        })[0];
  };
  const Operand mean = averaged([](const Axes&, const Expr& e) { return e; });
  const Operand variance = averaged([&](const Axes& out, const Expr& e) {
    const Expr difference = e - mean(out);
    return difference * difference;
  });
  return {mean, variance};
}

Operand inverse_deviation(Builder& b, const Operand& variance, double epsilon) {
  return b.map(variance, [&](const Expr& v) { return 1 / sqrt(v + epsilon); });
}

// (x - mean) * factor * scale + bias, rounded once, at the end; `scale` and `bias` may be null.
Operand scaled(Builder& b, const Operand& x, const Operand& mean, const Operand& factor,
               const Operand* scale, const Operand* bias) {
  const DType wide = mean.dtype;
  std::vector<Operand> operands{x, mean, factor};
  for (const Operand* extra : {scale, bias}) {
    if (extra == nullptr) continue;
    require(broadcast(x.shape, extra->shape) == x.shape,
            "a scale or bias of shape {} does not broadcast to {}", to_string(extra->shape),
            to_string(x.shape));
    operands.push_back(*extra);
  }
  return b.map(operands, [&](const std::vector<Expr>& e) {
    Expr y = (cast(wide, e[0]) - e[1]) * e[2];
    if (scale != nullptr) y = y * cast(wide, e[3]);
    if (bias != nullptr) y = y + cast(wide, e.back());
    return cast(x.dtype, y);
  });
}

// Returns a parameter with one element per channel (axis 1), in a shape that broadcasts.
Operand channel_parameter(OpContext& op, int input, int64_t channels, int64_t rank) {
  const Operand parameter = float_in(op, input);
  require(parameter.shape == Shape{channels}, "input {} has shape {} where {} is expected", input,
          to_string(parameter.shape), to_string(Shape{channels}));
  return rank < 2 ? parameter : aligned_at(op, parameter, 1, rank);
}

std::vector<int64_t> all_but_channels(int64_t rank) {
  std::vector<int64_t> axes{0};
  for (int64_t axis = 2; axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

void batch_normalization(OpContext& op) {
  const Operand x = float_in(op, 0);
  require(x.rank() >= 1, "the input is a scalar");
  require(op.opset() >= 7 || op.flag("is_test", false),
          "training mode (is_test = 0) of opset {} is not supported", op.opset());
  const int64_t channels = x.rank() > 1 ? x.extent(1) : 1;  // a vector has one channel
  const double epsilon = op.real("epsilon", 1e-5f);
  const DType wide = wide_type(x.dtype);
  const bool spatial =
      op.flag("spatial", true);  // opset 8 and before; if false, one parameter per element
  std::vector<Operand> parameters;
  for (int i = 1; i <= 4; ++i) {
    parameters.push_back(spatial ? channel_parameter(op, i, channels, x.rank()) : float_in(op, i));
  }
  Operand mean = op.cast_to(parameters[2], wide);
  Operand variance = op.cast_to(parameters[3], wide);
  const bool training = op.flag("training_mode", false);
  if (training) {
    const Moments current = moments(op, x, all_but_channels(x.rank()));
    mean = op.reshape(current.mean, parameters[2].shape);
    variance = op.reshape(current.variance, parameters[3].shape);
  }
  const Operand factor = op.map(parameters[0], variance, [&](const Expr& scale, const Expr& v) {
    return cast(wide, scale) / sqrt(v + epsilon);
  });
  op.out(scaled(op, x, mean, factor, nullptr, &parameters[1]));
  if (!training) return;
  const double momentum = op.real("momentum", 0.9f);
  for (const auto& [running, current] :
       {std::pair{parameters[2], mean}, std::pair{parameters[3], variance}}) {
    const Operand updated = op.map(running, current, [&](const Expr& before, const Expr& now) {
      return cast(before.dtype(), cast(wide, before) * momentum + now * (1 - momentum));
    });
    op.out(op.reshape(updated, {channels}));
  }
}

void instance_normalization(OpContext& op) {
  const Operand x = float_in(op, 0);
  require(x.rank() >= 2, "the input has shape {} and so no channels", to_string(x.shape));
  const Operand scale = channel_parameter(op, 1, x.extent(1), x.rank());
  const Operand bias = channel_parameter(op, 2, x.extent(1), x.rank());
  const Moments m = moments(op, x, axes_since(2, x.rank()));
  const Operand factor = inverse_deviation(op, m.variance, op.real("epsilon", 1e-5f));
  op.out(scaled(op, x, m.mean, factor, &scale, &bias));
}

// Converts to the type of the computation: `stash_type`, or f64 if the input is f64.
Operand stashed(OpContext& op, const Operand& x) {
  const DType stash = dtype_attr(op, "stash_type", DType::f32);
  require(is_float(stash), "attribute 'stash_type' names {}, which is no floating-point type",
          name(stash));
  return op.cast_to(x, x.dtype == DType::f64 ? x.dtype : wide_type(stash));
}

void group_normalization(OpContext& op) {
  const Operand x = float_in(op, 0);
  require(x.rank() >= 2, "the input has shape {} and so no channels", to_string(x.shape));
  const int64_t channels = x.extent(1);
  const int64_t groups = op.integer("num_groups");
  require(groups > 0 && channels % groups == 0, "{} channels cannot be cut into {} groups",
          channels, groups);
  // [batch, group, channel of the group, all other axes]
  const int64_t rest = element_count({x.shape.begin() + 2, x.shape.end()});
  const Shape grouped{x.extent(0), groups, channels / groups, rest};
  // Before opset 21 there is one parameter per group.
  const bool by_group = op.opset() < 21;
  const auto parameter = [&](int input) {
    const Operand given = channel_parameter(op, input, by_group ? groups : channels, 2);
    return op.reshape(given, {groups, by_group ? 1 : channels / groups, 1});
  };
  const Operand scale = parameter(1);
  const Operand bias = parameter(2);
  const Operand cut = op.reshape(stashed(op, x), grouped);
  const Moments m = moments(op, cut, {2, 3});
  const Operand factor = inverse_deviation(op, m.variance, op.real("epsilon", 1e-5f));
  const Operand y = op.cast_to(scaled(op, cut, m.mean, factor, &scale, &bias), x.dtype);
  op.out(op.reshape(y, x.shape));
}

void layer_normalization(OpContext& op) {
  const Operand x = float_in(op, 0);
  const int64_t axis = normalize_axis(op.integer("axis", -1), x.rank());
  const Operand scale = float_in(op, 1);
  const std::optional<Operand> bias = op.has(2) ? std::optional(float_in(op, 2)) : std::nullopt;
  const Operand wide = stashed(op, x);
  const Moments m = moments(op, wide, axes_since(axis, x.rank()));
  const Operand factor = inverse_deviation(op, m.variance, op.real("epsilon", 1e-5f));
  op.out(op.cast_to(scaled(op, wide, m.mean, factor, &scale, bias ? &*bias : nullptr), x.dtype));
  const DType stash = dtype_attr(op, "stash_type", DType::f32);
  if (op.wants(1) || op.wants(2)) {
    op.out(op.cast_to(m.mean, stash));
    op.out(op.cast_to(factor, stash));
  }
}

void rms_normalization(OpContext& op) {
  const Operand x = float_in(op, 0);
  const Operand scale = float_in(op, 1);
  const int64_t axis = normalize_axis(op.integer("axis", -1), x.rank());
  const double epsilon = op.real("epsilon", 1e-5f);
  require(broadcast(x.shape, scale.shape) == x.shape,
          "a scale of shape {} does not broadcast to {}", to_string(scale.shape),
          to_string(x.shape));
  const Operand wide = stashed(op, x);
  const ReducedAxes layout(x.shape, axes_since(axis, x.rank()), true);
  const Operand factor = op.reduce_all(
      sum_of(wide.dtype), layout.kept(), layout.over(),
      [&](const Axes& out, const Axes& in) {
        const Expr e = wide(layout.index(out, in));
        return std::vector{e * e};
      },
      [&](const Axes&, const std::vector<Expr>& r) {
        return std::vector{1 / sqrt(r[0] / layout.count() + epsilon)};
      })[0];
  op.out(op.map({wide, factor, scale}, [&](const std::vector<Expr>& e) {
    return cast(scale.dtype, e[0] * e[1] * cast(wide.dtype, e[2]));
  }));
}

void mean_variance_normalization(OpContext& op) {
  const Operand x = float_in(op, 0);
  const Moments m = moments(op, x, op.integers("axes", {0, 2, 3}));
  const Operand factor = op.map(m.variance, [](const Expr& v) { return 1 / (sqrt(v) + 1e-9); });
  op.out(scaled(op, x, m.mean, factor, nullptr, nullptr));
}

void lp_normalization(OpContext& op) {
  const Operand x = float_in(op, 0);
  const int64_t p = op.integer("p", 2);
  require(p == 1 || p == 2, "attribute 'p' is {}, not 1 or 2", p);
  const DType wide = wide_type(x.dtype);
  const Operand sum =
      reduce_keeping(op, sum_of(wide), x, {op.integer("axis", -1)}, [&](const Expr& element) {
        const Expr e = cast(wide, element);
        return p == 1 ? abs(e) : e * e;
      });
  op.out(op.map(x, sum, [&](const Expr& element, const Expr& s) {
    const Expr norm = p == 1 ? s : sqrt(s);
    const Expr y = cast(wide, element) / norm;
    return cast(x.dtype, select(eq(norm, 0), number_like(norm, 0), y));
  }));
}

// x / (bias + alpha / size * sum of squares over neighbouring channels) ^ beta.
void local_response_normalization(OpContext& op) {
  const Operand x = float_in(op, 0);
  require(x.rank() >= 2, "the input has shape {} and so no channels", to_string(x.shape));
  const int64_t size = op.integer("size");
  require(size > 0, "attribute 'size' is {}, not positive", size);
  const double share = op.real("alpha", 0.0001f) / static_cast<double>(size);
  const double beta = op.real("beta", 0.75);
  const double bias = op.real("bias", 1);
  // The window is clamped to the number of channels: `size` comes from a file and may be huge.
  const int64_t before = std::min((size - 1) / 2, x.extent(1));
  const int64_t after = std::min(size - 1 - (size - 1) / 2, x.extent(1));
  const DType wide = wide_type(x.dtype);
  op.out(op.reduce_all(
      sum_of(wide), x.shape, {before + 1 + after},
      [&](const Axes& out, const Axes& in) {
        Axes index = out;
        index[1] = out[1] + in[0] - before;
        const Expr e = cast(wide, x.or_outside(index, Expr::constant(x.dtype, 0)));
        return std::vector{e * e};
      },
      [&](const Axes& out, const std::vector<Expr>& r) {
        const Expr scale = pow(r[0] * share + bias, beta);
        return std::vector{cast(x.dtype, cast(wide, x(out)) / scale)};
      })[0]);
}

}  // namespace

const OpTable& normalization_operators() {
  static const OpTable table{
      {"BatchNormalization", 1, batch_normalization},
      {"GroupNormalization", 18, group_normalization},
      {"InstanceNormalization", 1, instance_normalization},
      {"LRN", 1, local_response_normalization},
      {"LayerNormalization", 17, layer_normalization},
      {"LpNormalization", 1, lp_normalization},
      {"MeanVarianceNormalization", 9, mean_variance_normalization},
      {"RMSNormalization", 23, rms_normalization},
  };
  return table;
}

}  // namespace aoe
