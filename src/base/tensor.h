#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"

namespace aoe {

// What is known of a tensor before it has contents.
struct TensorType {
  DType dtype = DType::f32;
  Shape shape;

  int64_t count() const { return element_count(shape); }
  bool operator==(const TensorType&) const = default;
};

// "float32[1, 3, 224, 224]"
std::string to_string(const TensorType& type);

// What the elements take in memory.
int64_t bytes_of(const TensorType& type);

// A dense row-major array. Copies share the elements: whoever writes must be the only holder
// (outputs under construction); everything handed on is treated as immutable.
class Tensor {
 public:
  Tensor() = default;

  // Elements are uninitialized (strings are empty). Fails when the tensor is larger than
  // `tensor_limit()`: sizes come from files and must not bring the process down.
  explicit Tensor(TensorType type);
  Tensor(DType dtype, Shape shape) : Tensor(TensorType{dtype, std::move(shape)}) {}

  static Tensor zeros(TensorType type);
  // Elements that live elsewhere; `owner` keeps them alive and may be null if the caller does.
  // Bools are copied, since bytes from outside need not be 0 or 1.
  static Tensor over(TensorType type, const void* elements, std::shared_ptr<const void> owner);
  // The same for whoever fills them: tensors for results.
  static Tensor onto(TensorType type, void* elements, std::shared_ptr<void> owner);
  static Tensor strings(Shape shape, std::vector<std::string> elements);

  template <typename T>
  static Tensor of(const std::vector<T>& elements, Shape shape) {
    Tensor result(dtype_of<T>(), std::move(shape));
    std::copy(elements.begin(), elements.end(), result.data<T>());
    return result;
  }
  static Tensor of_ints(const std::vector<int64_t>& elements) {
    return of(elements, {static_cast<int64_t>(elements.size())});
  }
  template <typename T>
  static Tensor scalar(T value) {
    return of(std::vector<T>{value}, {});
  }

  // An empty handle, as for an input that was left out.
  bool empty() const { return !data_; }
  // Whether nobody else holds the elements.
  bool is_sole_owner() const { return data_.use_count() == 1; }
  const TensorType& type() const { return type_; }
  DType dtype() const { return type_.dtype; }
  const Shape& shape() const { return type_.shape; }
  int64_t rank() const { return static_cast<int64_t>(type_.shape.size()); }
  int64_t count() const { return type_.count(); }
  int64_t bytes() const { return count() * info(dtype()).bytes; }

  std::byte* raw() { return static_cast<std::byte*>(data_.get()); }
  const std::byte* raw() const { return static_cast<const std::byte*>(data_.get()); }

  // T must be what `dispatch` gives for dtype(), or std::string.
  template <typename T>
  T* data() {
    return static_cast<T*>(data_.get());
  }
  template <typename T>
  const T* data() const {
    return static_cast<const T*>(data_.get());
  }

  // The same elements in memory that nobody else holds; not of strings.
  Tensor copied() const;
  // The same elements under another shape of as many elements.
  Tensor reshaped(Shape shape) const;

  // Elements converted; dtype must be an integer or bool (floats where asked: any numeric type).
  std::vector<int64_t> to_ints() const;
  std::vector<double> to_doubles() const;

 private:
  TensorType type_;
  std::shared_ptr<void> data_;
};

// A dense row-major array in somebody else's memory: what a caller gives to a run, or wants filled
// by it. Both the shape and the elements are the caller's, and stay where they are meanwhile.
struct TensorView {
  DType dtype = DType::f32;
  std::span<const int64_t> shape;
  void* elements = nullptr;  // of an input they are only read

  TensorType type() const { return {dtype, Shape(shape.begin(), shape.end())}; }
  // Its type must be one that was checked.
  int64_t count() const {
    int64_t count = 1;
    for (const int64_t extent : shape) count *= extent;
    return count;
  }
  bool is_of(DType other, const Shape& extents) const {
    return dtype == other && std::equal(shape.begin(), shape.end(), extents.begin(), extents.end());
  }
};

// Bytes one tensor may have: half of the machine's memory unless set.
int64_t tensor_limit();
// The size of a tensor's elements; fails if that is more than one may have.
int64_t bytes_within_limit(const TensorType& type);
void set_tensor_limit(int64_t bytes);

}  // namespace aoe
