#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/tensor.h"

namespace aoe {

// Type of a value as far as it is known before a run; missing parts are known only at run time.
struct ValueType {
  enum class Kind : uint8_t { tensor, sequence, optional };

  Kind kind = Kind::tensor;
  std::optional<DType> dtype;  // of the tensor, or of the elements
  std::optional<Shape> shape;  // tensors only

  ValueType() = default;
  ValueType(TensorType type)  // NOLINT(google-explicit-constructor): every tensor type is one
      : dtype(type.dtype), shape(std::move(type.shape)) {}

  static ValueType sequence_of(std::optional<DType> dtype);
  static ValueType optional_of(std::optional<DType> dtype);

  bool is_static() const { return kind == Kind::tensor && dtype && shape; }
  TensorType tensor() const { return {*dtype, *shape}; }
  bool operator==(const ValueType&) const = default;
};

std::string to_string(const ValueType& type);

// A value that flows between operators at run time: a tensor, a sequence of values, or none (an
// optional without an element, an omitted input).
class Value {
 public:
  Value() = default;
  Value(Tensor tensor) : tensor_(std::move(tensor)) {}  // NOLINT(google-explicit-constructor)
  static Value sequence(std::vector<Value> elements);

  bool is_none() const { return tensor_.empty() && !elements_; }
  bool is_tensor() const { return !tensor_.empty(); }
  bool is_sequence() const { return elements_ != nullptr; }

  // Both fail if the value is of another kind.
  const Tensor& tensor() const;
  const std::vector<Value>& elements() const;

  ValueType type() const;

 private:
  Tensor tensor_;
  std::shared_ptr<const std::vector<Value>> elements_;
};

}  // namespace aoe
