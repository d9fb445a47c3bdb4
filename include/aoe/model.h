// Loads a model and runs it.
//
//   auto model = aoe::Model::load("resnet50.onnx");
//   if (!model) return report(model.error());
//   auto image = aoe::Array::of<float>({1, 3, 224, 224}, pixels);
//   auto outputs = model->run({{"input", image}});
//
// Nothing here throws for what a user can cause: a Result holds a value or the message of an error.
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
#include <utility>
#include <vector>

#define AOE_API __attribute__((visibility("default")))

namespace aoe {

// A value, or why there is none.
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

// A dense row-major array of numbers. `dtype` is numpy's name: "float32", "int64", "bool", ...
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

// An input or output of a model. A dimension that is not fixed is -1.
struct ArrayInfo {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
};

// A loaded model. Copies share it; any number of threads may run it at once.
class AOE_API Model {
 public:
  struct Options {
    // Sizes of inputs whose dimensions are symbolic; without, they are taken from each run's
    // inputs.
    std::map<std::string, std::vector<int64_t>> input_shapes;
    int threads = 0;  // 0: all cores this process may use
    // "sse2", "avx2" or "avx512": kernels for no more than that. "reference": slow and plain.
    std::string kernels;
  };

  static Result<Model> load(const std::filesystem::path& file, const Options& options);
  static Result<Model> load(const std::filesystem::path& file) { return load(file, Options()); }
  static Result<Model> load(std::span<const std::byte> model, const Options& options);

  std::vector<ArrayInfo> inputs() const;
  std::vector<ArrayInfo> outputs() const;

  Result<std::map<std::string, Array>> run(const std::map<std::string, Array>& inputs) const;

 private:
  struct State;
  explicit Model(std::shared_ptr<const State> state);

  std::shared_ptr<const State> state_;
};

namespace detail {

template <typename T>
constexpr const char* dtype_name();
template <>
constexpr const char* dtype_name<float>() {
  return "float32";
}
template <>
constexpr const char* dtype_name<double>() {
  return "float64";
}
template <>
constexpr const char* dtype_name<int8_t>() {
  return "int8";
}
template <>
constexpr const char* dtype_name<int16_t>() {
  return "int16";
}
template <>
constexpr const char* dtype_name<int32_t>() {
  return "int32";
}
template <>
constexpr const char* dtype_name<int64_t>() {
  return "int64";
}
template <>
constexpr const char* dtype_name<uint8_t>() {
  return "uint8";
}
template <>
constexpr const char* dtype_name<uint16_t>() {
  return "uint16";
}
template <>
constexpr const char* dtype_name<uint32_t>() {
  return "uint32";
}
template <>
constexpr const char* dtype_name<uint64_t>() {
  return "uint64";
}
template <>
constexpr const char* dtype_name<bool>() {
  return "bool";
}

}  // namespace detail

template <typename T>
Array Array::of(std::vector<int64_t> shape, std::span<const T> elements) {
  const auto bytes = std::as_bytes(elements);
  return {detail::dtype_name<T>(), std::move(shape), {bytes.begin(), bytes.end()}};
}

}  // namespace aoe
