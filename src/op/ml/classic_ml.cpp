#include <cmath>
#include <unordered_map>

#include "op/context.h"
#include "op/families.h"
#include "op/host_kernel.h"
#include "op/ml/tree_ensemble.h"

namespace aoe {
namespace {

constexpr std::string_view kDomain = "ai.onnx.ml";

void binarizer(OpContext& op) {
  const double threshold = op.real("threshold", 0);
  op.out(op.map(op.in(0), [&](const Expr& x) {
    // For integers x, x > threshold is equivalent to x > floor(threshold).
    const Expr limit =
        Expr::constant(x.dtype(), is_int(x.dtype()) ? std::floor(threshold) : threshold);
    return cast(x.dtype(), lt(limit, x));
  }));
}

// Returns the attribute `prefix`_floats, _int64s, _strings or _tensor as a vector, or an empty
// handle if none is present.
Tensor listed(const OpContext& op, const std::string& prefix) {
  const auto length = [](const auto& list) { return Shape{std::ssize(list)}; };
  if (op.has_attr(prefix + "_tensor")) {
    const Tensor& found = op.tensor_attr(prefix + "_tensor");
    return found.reshaped({found.count()});
  }
  if (op.has_attr(prefix + "_strings")) {
    const std::vector<std::string> list = op.texts(prefix + "_strings");
    return Tensor::strings(length(list), list);
  }
  if (op.has_attr(prefix + "_int64s")) return Tensor::of_ints(op.integers(prefix + "_int64s"));
  if (op.has_attr(prefix + "_floats")) {
    const std::vector<double> list = op.reals(prefix + "_floats");
    return Tensor::of(std::vector<float>(list.begin(), list.end()), length(list));
  }
  return {};
}

// Returns the value for unknown keys, as a vector of one element.
Tensor default_label(const OpContext& op, DType dtype) {
  if (op.has_attr("default_tensor")) {
    const Tensor& found = op.tensor_attr("default_tensor");
    require(found.dtype() == dtype && found.count() == 1, "default_tensor is {}, not one {}",
            to_string(found.type()), name(dtype));
    return found.reshaped({1});
  }
  if (dtype == DType::string) return Tensor::strings({1}, {op.text("default_string", "_Unused")});
  Tensor result(dtype, {1});
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_floating_point_v<T> || requires(T t) { t.bits; }) {
      *result.data<T>() = T(static_cast<float>(op.real("default_float", -0.0)));
    } else {
      *result.data<T>() = static_cast<T>(op.integer("default_int64", -1));
    }
  });
  return result;
}

// Opset 1 lists classes instead of keys and values: strings map to their positions, integers to the
// strings.
void class_names(const OpContext& op, Tensor& keys, Tensor& values) {
  const std::vector<std::string> names = op.texts("classes_strings");
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < std::ssize(names); ++i) positions.push_back(i);
  keys = Tensor::strings({std::ssize(names)}, names);
  values = Tensor::of_ints(positions);
  if (op.dtype(0) != DType::string) std::swap(keys, values);
}

// For each element of `x`: its position among the keys (the last one if it occurs more than once),
// or the number of keys if it is none of them.
std::vector<int64_t> positions_in(const Tensor& keys, const Tensor& x) {
  std::vector<int64_t> positions;
  dispatch_any(keys.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    // Floats are compared as doubles; all NaNs are the same key.
    using Key = std::conditional_t<
        std::is_same_v<T, std::string>, std::string,
        std::conditional_t<std::is_integral_v<T> || requires(T t) { t.value; }, int64_t, double>>;
    const auto is_nan = [](const Key& key) {
      if constexpr (std::is_floating_point_v<Key>) return std::isnan(key);
      else return false;
    };
    std::unordered_map<Key, int64_t> known;
    int64_t of_nan = keys.count();
    for (int64_t i = 0; i < keys.count(); ++i) {
      const Key key(keys.data<T>()[i]);
      if (is_nan(key)) of_nan = i;
      else known.insert_or_assign(key, i);
    }
    for (int64_t i = 0; i < x.count(); ++i) {
      const Key key(x.data<T>()[i]);
      const auto found = known.find(key);
      positions.push_back(is_nan(key)            ? of_nan
                          : found == known.end() ? keys.count()
                                                 : found->second);
    }
  });
  return positions;
}

void label_encoder(OpContext& op) {
  Tensor keys = listed(op, "keys");
  Tensor values = listed(op, "values");
  if (op.has_attr("classes_strings")) class_names(op, keys, values);
  require(!keys.empty() && !values.empty() && keys.count() == values.count(),
          "keys_* and values_* must both be given, with as many entries");
  const std::vector<Tensor> labels{values, default_label(op, values.dtype())};
  const Tensor table = join(labels, 0);
  const Shape shape = op.shape(0);
  op.host({TensorType{table.dtype(), shape}}, [=](const HostCall& call) -> std::vector<Value> {
    const Tensor& x = call.inputs[0].tensor();
    require(x.dtype() == keys.dtype(), "the input is {}, the keys are {}", name(x.dtype()),
            name(keys.dtype()));
    return {take(table, 0, positions_in(keys, x)).reshaped(shape)};
  });
}

void tree_ensemble(OpContext& op) {
  const auto trees = std::make_shared<const TreeEnsemble>(op);
  const Shape& shape = op.shape(0);
  require(shape.size() == 2, "{} where shape [N, features] is expected", to_string(shape));
  const TensorType type{op.dtype(0), {shape[0], trees->targets()}};
  require(is_float(type.dtype), "features are {}, not floats", name(type.dtype));
  op.host({type}, [=](const HostCall& call) -> std::vector<Value> {
    const Tensor& x = call.inputs[0].tensor();
    const std::vector<double> features = x.to_doubles();
    const auto width = static_cast<size_t>(x.shape()[1]);
    Tensor result(type);
    dispatch(type.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      T* next = result.data<T>();
      for (int64_t row = 0; row < type.shape[0] && result.count() > 0; ++row) {
        const auto sample = std::span(features).subspan(static_cast<size_t>(row) * width, width);
        for (const double score : trees->scores(sample)) *next++ = static_cast<T>(score);
      }
    });
    return {result};
  });
}

}  // namespace

const OpTable& classic_ml_operators() {
  static const OpTable table{
      {"Binarizer", 1, binarizer, kDomain},
      {"LabelEncoder", 1, label_encoder, kDomain},
      {"TreeEnsemble", 5, tree_ensemble, kDomain},
  };
  return table;
}

}  // namespace aoe
