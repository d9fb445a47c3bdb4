// Loads models and runs them: aoe.h for C++20.
//
//   auto model = aoe::Model::load("resnet50.onnx");
//   if (!model) return report(model.error());
//   auto image = aoe::Array::of<float>({1, 3, 224, 224}, pixels);
//   auto outputs = model->run({{"input", image}});
//
// Or on the caller's memory, in the order of inputs() and outputs(), without copying:
//
//   const std::array inputs{aoe::input_view<float>(pixels)};
//   std::array outputs{aoe::output_view<float>(scores)};
//   if (const auto done = model->run(inputs, outputs); !done) return report(done.error());
//
// Errors that a user can cause are not thrown: a Result holds a value or the message of an error.
// Everything is defined in this header and calls the C functions, so that a program and libaoe.so
// may be compiled by different compilers.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "aoe/aoe.h"

namespace aoe {

// A value, or the message of the error.
template <typename T>
class Result {
 public:
  Result(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)
  static Result failure(std::string message) { return Result(std::move(message), 0); }

  explicit operator bool() const { return value_.has_value(); }
  const std::string& error() const { return error_; }

  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  Result(std::string message, int) : error_(std::move(message)) {}

  std::optional<T> value_;
  std::string error_;
};

// Success, or the message of the error.
template <>
class Result<void> {
 public:
  Result() = default;
  static Result failure(std::string message) { return Result(std::move(message)); }

  explicit operator bool() const { return done_; }
  const std::string& error() const { return error_; }

 private:
  explicit Result(std::string message) : done_(false), error_(std::move(message)) {}

  bool done_ = true;
  std::string error_;
};

// A dense row-major array of numbers. `dtype` is NumPy's name: "float32", "int64", "bool", ...
struct Array {
  std::string dtype;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;

  template <typename T>
  static Array of(std::vector<int64_t> shape, std::span<const T> elements);
  template <typename T>
  std::span<const T> elements() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

// An input or output of a model. An open dimension is -1.
struct ArrayInfo {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
};

// Views of the caller's memory, for Model::run. Elements and shape must stay valid during the run.
// The shape may be omitted if the model has no open dimension in that input.
template <typename T>
aoe_input input_view(std::span<const std::type_identity_t<T>> elements,
                     std::span<const int64_t> shape = {});
template <typename T>
aoe_output output_view(std::span<std::type_identity_t<T>> elements);

// A loaded model. Copies share it; any number of threads may run it at once.
class Model {
 public:
  struct Options {
    // Shapes of inputs with symbolic dimensions; otherwise these follow from the inputs of each
    // run.
    std::map<std::string, std::vector<int64_t>> input_shapes;
    int threads = 0;  // 0: as many as cores that this process may use
    // Widest vectors: "sse2", "avx2" or "avx512"; "reference" for the slow reference evaluator.
    std::string kernels;
    // "high_performance" (the default), or "high_precision": direct algorithms only; for the
    // operators that are listed, or all.
    std::string op_select_implmode;
    std::vector<std::string> optypelist_for_implmode;
    bool allow_strassen = false;  // policies may use Strassen's algorithm (docs/numerics.md)
  };

  static Result<Model> load(const std::filesystem::path& file, const Options& options);
  static Result<Model> load(const std::filesystem::path& file) { return load(file, Options()); }
  // From the bytes of a model file, which need not outlive the call.
  static Result<Model> load(std::span<const std::byte> model, const Options& options);

  std::vector<ArrayInfo> inputs() const;
  std::vector<ArrayInfo> outputs() const;

  // Runs on inputs by name and returns outputs by name, in new arrays.
  Result<std::map<std::string, Array>> run(const std::map<std::string, Array>& inputs) const;

  // Runs on the caller's memory, in the order of inputs() and outputs(), like aoe_model_run. If the
  // memory of an output is too small, its `bytes` exceed its `room` afterwards.
  Result<void> run(std::span<const aoe_input> inputs, std::span<aoe_output> outputs) const;

 private:
  explicit Model(aoe_model* model) : model_(model, aoe_model_free) {}

  template <typename Load>
  static Result<Model> loaded(const Options& options, const Load& load);

  std::shared_ptr<const aoe_model> model_;
};

namespace detail {

template <typename T>
constexpr aoe_dtype dtype_of() {
  if constexpr (std::is_same_v<T, float>) return AOE_FLOAT32;
  else if constexpr (std::is_same_v<T, double>) return AOE_FLOAT64;
  else if constexpr (std::is_same_v<T, int8_t>) return AOE_INT8;
  else if constexpr (std::is_same_v<T, int16_t>) return AOE_INT16;
  else if constexpr (std::is_same_v<T, int32_t>) return AOE_INT32;
  else if constexpr (std::is_same_v<T, int64_t>) return AOE_INT64;
  else if constexpr (std::is_same_v<T, uint8_t>) return AOE_UINT8;
  else if constexpr (std::is_same_v<T, uint16_t>) return AOE_UINT16;
  else if constexpr (std::is_same_v<T, uint32_t>) return AOE_UINT32;
  else if constexpr (std::is_same_v<T, uint64_t>) return AOE_UINT64;
  else if constexpr (std::is_same_v<T, bool>) return AOE_BOOL;
  else static_assert(!sizeof(T), "no element type is stored as this; fill in an aoe_input instead");
}

inline ArrayInfo info_of(const aoe_info& info) {
  ArrayInfo result{info.name, info.dtype == AOE_UNKNOWN ? "?" : aoe_dtype_name(info.dtype), {}};
  if (info.shape != nullptr) result.shape.assign(info.shape, info.shape + info.rank);
  return result;
}

}  // namespace detail

template <typename T>
Array Array::of(std::vector<int64_t> shape, std::span<const T> elements) {
  const auto bytes = std::as_bytes(elements);
  return {aoe_dtype_name(detail::dtype_of<T>()), std::move(shape), {bytes.begin(), bytes.end()}};
}

template <typename T>
aoe_input input_view(std::span<const std::type_identity_t<T>> elements,
                     std::span<const int64_t> shape) {
  return {detail::dtype_of<T>(), elements.data(), elements.size_bytes(),
          shape.empty() ? nullptr : shape.data(), shape.size()};
}

template <typename T>
aoe_output output_view(std::span<std::type_identity_t<T>> elements) {
  aoe_output output{};
  output.dtype = detail::dtype_of<T>();
  output.data = elements.data();
  output.room = elements.size_bytes();
  return output;
}

template <typename Load>
Result<Model> Model::loaded(const Options& options, const Load& load) {
  std::vector<aoe_input_shape> shapes;
  for (const auto& [name, shape] : options.input_shapes) {
    shapes.push_back({name.c_str(), shape.data(), shape.size()});
  }
  std::string op_types;
  const std::vector<std::string>& listed = options.optypelist_for_implmode;
  for (size_t i = 0; i < listed.size(); ++i) op_types += (i == 0 ? "" : ",") + listed[i];
  const bool has_mode = !options.op_select_implmode.empty();
  const aoe_options given{sizeof(aoe_options),
                          options.threads,
                          options.kernels.c_str(),
                          shapes.data(),
                          shapes.size(),
                          has_mode ? options.op_select_implmode.c_str() : nullptr,
                          listed.empty() ? nullptr : op_types.c_str(),
                          options.allow_strassen ? 1 : 0};
  aoe_model* model = nullptr;
  if (load(&given, &model) != AOE_OK) return Result<Model>::failure(aoe_error());
  return Model(model);
}

inline Result<Model> Model::load(const std::filesystem::path& file, const Options& options) {
  return loaded(options, [&](const aoe_options* given, aoe_model** model) {
    return aoe_model_load(file.c_str(), given, model);
  });
}

inline Result<Model> Model::load(std::span<const std::byte> bytes, const Options& options) {
  return loaded(options, [&](const aoe_options* given, aoe_model** model) {
    return aoe_model_load_bytes(bytes.data(), bytes.size(), given, model);
  });
}

inline std::vector<ArrayInfo> Model::inputs() const {
  std::vector<ArrayInfo> infos;
  for (size_t i = 0; i < aoe_model_input_count(model_.get()); ++i) {
    infos.push_back(detail::info_of(*aoe_model_input(model_.get(), i)));
  }
  return infos;
}

inline std::vector<ArrayInfo> Model::outputs() const {
  std::vector<ArrayInfo> infos;
  for (size_t i = 0; i < aoe_model_output_count(model_.get()); ++i) {
    infos.push_back(detail::info_of(*aoe_model_output(model_.get(), i)));
  }
  return infos;
}

inline Result<void> Model::run(std::span<const aoe_input> inputs,
                               std::span<aoe_output> outputs) const {
  const aoe_status status =
      aoe_model_run(model_.get(), inputs.data(), inputs.size(), outputs.data(), outputs.size());
  return status == AOE_OK ? Result<void>() : Result<void>::failure(aoe_error());
}

inline Result<std::map<std::string, Array>> Model::run(
    const std::map<std::string, Array>& inputs) const {
  using Outputs = Result<std::map<std::string, Array>>;
  std::vector<aoe_input> views(aoe_model_input_count(model_.get()));
  std::map<std::string, aoe_input*> by_name;
  for (size_t i = 0; i < views.size(); ++i) {
    by_name[aoe_model_input(model_.get(), i)->name] = &views[i];
  }
  for (const auto& [name, array] : inputs) {
    const auto found = by_name.find(name);
    if (found == by_name.end()) return Outputs::failure("the model has no input '" + name + "'");
    *found->second = {aoe_dtype_named(array.dtype.c_str()), array.bytes.data(), array.bytes.size(),
                      array.shape.data(), array.shape.size()};
  }
  std::vector<aoe_output> results(aoe_model_output_count(model_.get()));
  if (const auto done = run(views, results); !done) return Outputs::failure(done.error());
  std::map<std::string, Array> outputs;
  for (size_t i = 0; i < results.size(); ++i) {
    const auto* bytes = static_cast<const std::byte*>(results[i].data);
    outputs[aoe_model_output(model_.get(), i)->name] = {
        aoe_dtype_name(results[i].dtype),
        {results[i].shape, results[i].shape + results[i].rank},
        {bytes, bytes + results[i].bytes}};
    aoe_output_free(&results[i]);
  }
  return outputs;
}

}  // namespace aoe
