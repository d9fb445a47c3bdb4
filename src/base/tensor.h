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

// Element type and shape of a tensor.
struct TensorType {
  DType dtype = DType::f32;
  Shape shape;

  int64_t count() const { return element_count(shape); }
  bool operator==(const TensorType&) const = default;
};

// "float32[1, 3, 224, 224]"
std::string to_string(const TensorType& type);

// Bytes of the elements in memory.
int64_t bytes_of(const TensorType& type);

// A dense row-major array. Copies share the elements, so they may be written only while there is
// one holder (outputs under construction); a Tensor that was handed on is immutable.
class Tensor {
 public:
  Tensor() = default;

  // Elements are uninitialized (strings are empty). Fails if the tensor is larger than
  // `tensor_limit()`: sizes come from untrusted files and must not exhaust memory.
  explicit Tensor(TensorType type);
  Tensor(DType dtype, Shape shape) : Tensor(TensorType{dtype, std::move(shape)}) {}

  static Tensor zeros(TensorType type);
  // A Tensor over existing elements; `owner` keeps them alive and may be null if the caller does.
  // Bools are copied, since bytes from outside need not be 0 or 1.
  static Tensor over(TensorType type, const void* elements, std::shared_ptr<const void> owner);
  // The same over elements that will be written, for results.
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

  // Whether this is a null handle, as for an omitted input; not whether there are no elements.
  bool empty() const { return !data_; }
  // Whether no other Tensor shares the elements.
  bool is_sole_owner() const { return data_.use_count() == 1; }
  const TensorType& type() const { return type_; }
  DType dtype() const { return type_.dtype; }
  const Shape& shape() const { return type_.shape; }
  int64_t rank() const { return static_cast<int64_t>(type_.shape.size()); }
  int64_t count() const { return type_.count(); }
  int64_t bytes() const { return count() * info(dtype()).bytes; }

  std::byte* raw() { return static_cast<std::byte*>(data_.get()); }
  const std::byte* raw() const { return static_cast<const std::byte*>(data_.get()); }

  // T must be the type that `dispatch` passes for dtype(), or std::string.
  template <typename T>
  T* data() {
    return static_cast<T*>(data_.get());
  }
  template <typename T>
  const T* data() const {
    return static_cast<const T*>(data_.get());
  }

  // A deep copy; not for strings.
  Tensor copied() const;
  // The same elements, shared, under another shape; fails if it has another number of elements.
  Tensor reshaped(Shape shape) const;

  // Elements converted. to_ints fails unless dtype() is an integer or bool, to_doubles for strings.
  std::vector<int64_t> to_ints() const;
  std::vector<double> to_doubles() const;

 private:
  TensorType type_;
  std::shared_ptr<void> data_;
};

// A non-owning view of a dense row-major array: an input of a run, or an output to be written. The
// caller keeps shape and elements alive and in place for the duration of the run.
struct TensorView {
  DType dtype = DType::f32;
  std::span<const int64_t> shape;
  void* elements = nullptr;  // those of an input are only read

  TensorType type() const { return {dtype, Shape(shape.begin(), shape.end())}; }
  // Does not check for overflow: the type must have been validated.
  int64_t count() const {
    int64_t count = 1;
    for (const int64_t extent : shape) count *= extent;
    return count;
  }
  bool is_of(DType other, const Shape& extents) const {
    return dtype == other && std::equal(shape.begin(), shape.end(), extents.begin(), extents.end());
  }
};

// Maximum size of one tensor in bytes: half of the machine's memory unless set.
int64_t tensor_limit();
// Bytes of the elements; fails if they exceed tensor_limit().
int64_t bytes_within_limit(const TensorType& type);
void set_tensor_limit(int64_t bytes);

}  // namespace aoe
