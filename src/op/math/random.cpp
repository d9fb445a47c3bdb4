#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "op/families.h"
#include "op/operands.h"

namespace aoe {
namespace {

// Random numbers identical to numpy's RandomState for the same seed, so that seeded models give the
// results of ONNX's reference implementation.
class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}

  // Returns a number in [0, 1) with the full 53 bits of a double.
  double uniform() {
    const uint32_t high = static_cast<uint32_t>(engine_()) >> 5;
    const uint32_t low = static_cast<uint32_t>(engine_()) >> 6;
    return (high * 67108864.0 + low) / 9007199254740992.0;
  }

  // Marsaglia's polar method; it yields two numbers at a time.
  double normal() {
    if (spare_) return *std::exchange(spare_, std::nullopt);
    double x = 0;
    double y = 0;
    double square = 0;
    do {
      x = 2 * uniform() - 1;
      y = 2 * uniform() - 1;
      square = x * x + y * y;
    } while (square >= 1 || square == 0);
    const double factor = std::sqrt(-2 * std::log(square) / square);
    spare_ = factor * x;
    return factor * y;
  }

 private:
  std::mt19937 engine_;
  std::optional<double> spare_;
};

// If the model gives no seed, each run chooses one.
using Seed = std::optional<uint32_t>;

Random random_from(const Seed& seed) { return Random(seed ? *seed : std::random_device{}()); }

Seed seed_of(const OpContext& op) {
  if (!op.has_attr("seed")) return std::nullopt;
  const auto seed = static_cast<float>(op.real("seed"));
  const bool whole = seed >= 0 && seed < 0x1p32f && std::floor(seed) == seed;
  return whole ? static_cast<uint32_t>(seed) : std::bit_cast<uint32_t>(seed);
}

using Draw = std::function<double(Random&)>;

void drawn(OpContext& op, const TensorType& type, Draw draw) {
  require(is_float(type.dtype), "random numbers of type {} are not supported", name(type.dtype));
  op.host({type}, [type, draw = std::move(draw), seed = seed_of(op)](const HostCall&) {
    Random random = random_from(seed);
    Tensor result(type);
    dispatch(type.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t i = 0; i < result.count(); ++i)
        result.data<T>()[i] = static_cast<T>(draw(random));
    });
    return std::vector<Value>{result};
  });
}

Draw normal_numbers(const OpContext& op) {
  return [mean = op.real("mean", 0), scale = op.real("scale", 1)](Random& random) {
    return random.normal() * scale + mean;
  };
}

Draw uniform_numbers(const OpContext& op) {
  return [low = op.real("low", 0), high = op.real("high", 1)](Random& random) {
    return random.uniform() * (high - low) + low;
  };
}

TensorType shape_from_attribute(const OpContext& op) {
  return {dtype_attr(op, "dtype", DType::f32), op.integers("shape")};
}

TensorType shape_from_input(const OpContext& op) {
  return {op.has_attr("dtype") ? dtype_attr(op, "dtype") : op.dtype(0), op.shape(0)};
}

void random_normal(OpContext& op) { drawn(op, shape_from_attribute(op), normal_numbers(op)); }
void random_uniform(OpContext& op) { drawn(op, shape_from_attribute(op), uniform_numbers(op)); }
void random_normal_like(OpContext& op) { drawn(op, shape_from_input(op), normal_numbers(op)); }
void random_uniform_like(OpContext& op) { drawn(op, shape_from_input(op), uniform_numbers(op)); }

// Draws 1 with the probability given by the input, otherwise 0.
void bernoulli(OpContext& op) {
  const TensorType type = shape_from_input(op);
  require(is_float(op.dtype(0)) && type.dtype != DType::string, "{} from probabilities of type {}",
          name(type.dtype), name(op.dtype(0)));
  op.host({type}, [type, seed = seed_of(op)](const HostCall& call) {
    Random random = random_from(seed);
    const std::vector<double> probabilities = call.inputs[0].tensor().to_doubles();
    Tensor result(type);
    dispatch(type.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (size_t i = 0; i < probabilities.size(); ++i) {
        result.data<T>()[i] = static_cast<T>(random.uniform() < probabilities[i] ? 1 : 0);
      }
    });
    return std::vector<Value>{result};
  });
}

// A categorical distribution, given by unnormalized log-probabilities. Maps a number in [0, 1) to a
// class.
class Classes {
 public:
  Classes(const double* logarithms, int64_t count) : bounds_(logarithms, logarithms + count) {
    const double largest = *std::max_element(bounds_.begin(), bounds_.end());
    double sum = 0;
    for (double& bound : bounds_) bound = sum += std::exp(bound - largest);
  }

  int64_t at(double uniform) const {
    const auto found =
        std::upper_bound(bounds_.begin(), bounds_.end() - 1, uniform * bounds_.back());
    return found - bounds_.begin();
  }

 private:
  std::vector<double> bounds_;  // cumulative weights
};

void multinomial(OpContext& op) {
  const Shape& shape = op.shape(0);
  const DType type = dtype_attr(op, "dtype", DType::i32);
  const int64_t samples = op.integer("sample_size", 1);
  require(is_float(op.dtype(0)) && shape.size() == 2 && shape[1] > 0,
          "the input is {}[{}] where logarithms of [batch, class] are expected", name(op.dtype(0)),
          to_string(shape));
  require(type == DType::i32 || type == DType::i64, "classes as {} are not supported", name(type));
  require(samples >= 0, "attribute 'sample_size' is {}, which is negative", samples);
  const TensorType drawn_type{type, {shape[0], samples}};
  op.host({drawn_type}, [drawn_type, seed = seed_of(op)](const HostCall& call) {
    Random random = random_from(seed);
    const Tensor& x = call.inputs[0].tensor();
    const std::vector<double> logarithms = x.to_doubles();
    const int64_t classes = x.shape()[1];
    Tensor result(drawn_type);
    const int64_t sample_count = drawn_type.shape[1];
    for (int64_t row = 0; row < drawn_type.shape[0]; ++row) {
      const Classes weighted(logarithms.data() + row * classes, classes);
      for (int64_t i = row * sample_count; i < (row + 1) * sample_count; ++i) {
        const int64_t chosen = weighted.at(random.uniform());
        if (result.dtype() == DType::i64) result.data<int64_t>()[i] = chosen;
        else result.data<int32_t>()[i] = static_cast<int32_t>(chosen);
      }
    }
    return std::vector<Value>{result};
  });
}

std::vector<Value> dropped(const Tensor& x, double ratio, const Seed& seed) {
  require(ratio >= 0 && ratio < 1, "the ratio is {}, not in [0, 1)", ratio);
  Random random = random_from(seed);
  Tensor y(x.type());
  Tensor mask(DType::boolean, x.shape());
  dispatch(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < x.count(); ++i) {
      const bool kept = random.uniform() >= ratio;
      mask.data<bool>()[i] = kept;
      const double scaled = static_cast<double>(x.data<T>()[i]) / (1 - ratio);
      y.data<T>()[i] = static_cast<T>(kept ? scaled : 0);
    }
  });
  return {y, mask};
}

// Inference returns the input; elements are dropped only if training_mode (opset 12) is set.
void dropout(OpContext& op) {
  const Operand x = float_in(op, 0);
  const bool training = op.has(2) && op.integer_in(2) != 0;
  if (!training) {
    const DType mask = op.opset() < 10 ? x.dtype : DType::boolean;
    op.out(x);
    if (op.wants(1))
      op.out(op.compute(x.shape, [&](const Axes&) { return Expr::integer(mask, 1); }));
    return;
  }
  Seed seed;
  if (op.has_attr("seed")) seed = static_cast<uint32_t>(op.integer("seed"));
  const bool has_ratio = op.has(1);
  op.host({TensorType{x.dtype, x.shape}, TensorType{DType::boolean, x.shape}},
          [seed, has_ratio](const HostCall& call) {
            const std::vector<double> given =
                has_ratio ? call.inputs[1].tensor().to_doubles() : std::vector<double>{0.5};
            require(given.size() == 1, "the ratio is {} numbers, not one", given.size());
            const double ratio = given[0];
            return dropped(call.inputs[0].tensor(), ratio, seed);
          });
}

constexpr bool kNotPure = false;

}  // namespace

const OpTable& random_operators() {
  static const OpTable table{
      {"Bernoulli", 15, bernoulli, "", kNotPure},
      {"Dropout", 7, dropout, "", kNotPure},
      {"Multinomial", 7, multinomial, "", kNotPure},
      {"RandomNormal", 1, random_normal, "", kNotPure},
      {"RandomNormalLike", 1, random_normal_like, "", kNotPure},
      {"RandomUniform", 1, random_uniform, "", kNotPure},
      {"RandomUniformLike", 1, random_uniform_like, "", kNotPure},
  };
  return table;
}

}  // namespace aoe
