#include "base/value.h"

namespace aoe {

ValueType ValueType::sequence_of(std::optional<DType> dtype) {
  ValueType result;
  result.kind = Kind::sequence;
  result.dtype = dtype;
  return result;
}

ValueType ValueType::optional_of(std::optional<DType> dtype) {
  ValueType result;
  result.kind = Kind::optional;
  result.dtype = dtype;
  return result;
}

std::string to_string(const ValueType& type) {
  std::string element(type.dtype ? name(*type.dtype) : "?");
  switch (type.kind) {
    case ValueType::Kind::tensor: return element + (type.shape ? to_string(*type.shape) : "[?]");
    case ValueType::Kind::sequence: return "sequence(" + element + ")";
    case ValueType::Kind::optional: return "optional(" + element + ")";
  }
  return element;
}

Value Value::sequence(std::vector<Value> elements) {
  Value result;
  result.elements_ = std::make_shared<const std::vector<Value>>(std::move(elements));
  return result;
}

const Tensor& Value::tensor() const {
  require(is_tensor(), "a tensor is expected, not {}", is_none() ? "nothing" : "a sequence");
  return tensor_;
}

const std::vector<Value>& Value::elements() const {
  require(is_sequence(), "a sequence is expected, not {}", is_none() ? "nothing" : "a tensor");
  return *elements_;
}

ValueType Value::type() const {
  if (is_tensor()) return tensor_.type();
  if (is_none()) return ValueType::optional_of(std::nullopt);
  std::optional<DType> dtype;
  if (!elements_->empty()) dtype = elements_->front().type().dtype;
  return ValueType::sequence_of(dtype);
}

}  // namespace aoe
