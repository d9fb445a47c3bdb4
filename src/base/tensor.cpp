#include "base/tensor.h"

#include <unistd.h>

#include <atomic>
#include <cstring>

#include "base/memory.h"

namespace aoe {
namespace {

std::atomic<int64_t> limit_override{0};

std::shared_ptr<void> elements_of(const TensorType& type) {
  const int64_t count = type.count();
  const int64_t bytes = bytes_within_limit(type);
  if (type.dtype == DType::string) {
    return std::shared_ptr<std::string[]>(new std::string[static_cast<size_t>(count)]);
  }
  std::shared_ptr<void> memory = allocate(static_cast<size_t>(bytes));
  require(memory != nullptr, "no memory for a tensor of type {}", to_string(type));
  return memory;
}

}  // namespace

int64_t bytes_within_limit(const TensorType& type) {
  int64_t bytes = 0;
  const bool overflow = __builtin_mul_overflow(type.count(), info(type.dtype).bytes, &bytes);
  if (overflow || bytes > tensor_limit()) {
    fail("a tensor of type {} needs more than the {} MB that one tensor may have here",
         to_string(type), tensor_limit() >> 20);
  }
  return bytes;
}

std::string to_string(const TensorType& type) {
  return fmt::format("{}{}", name(type.dtype), to_string(type.shape));
}

int64_t bytes_of(const TensorType& type) {
  return checked_mul(type.count(), info(type.dtype).bytes);
}

Tensor::Tensor(TensorType type) : type_(std::move(type)), data_(elements_of(type_)) {}

Tensor Tensor::zeros(TensorType type) {
  Tensor result(std::move(type));
  if (result.dtype() != DType::string) std::memset(result.raw(), 0, result.bytes());
  return result;
}

Tensor Tensor::over(TensorType type, const void* elements, std::shared_ptr<const void> owner) {
  if (type.dtype == DType::boolean) {
    // In callers' memory any byte but 0 is true; a C++ bool must be 0 or 1.
    Tensor result(std::move(type));
    const auto* from = static_cast<const uint8_t*>(elements);
    const int64_t count = result.count();
    for (int64_t i = 0; i < count; ++i) result.data<bool>()[i] = from[i] != 0;
    return result;
  }
  static const std::byte nothing{};  // an empty array may have no address, a Tensor must
  if (elements == nullptr) elements = &nothing;
  Tensor result;
  result.type_ = std::move(type);
  // The cast is safe: elements of a Tensor that was handed on are never written (see the class).
  result.data_ = std::shared_ptr<void>(std::const_pointer_cast<void>(std::move(owner)),
                                       const_cast<void*>(elements));
  return result;
}

Tensor Tensor::onto(TensorType type, void* elements, std::shared_ptr<void> owner) {
  Tensor result;
  result.type_ = std::move(type);
  result.data_ = std::shared_ptr<void>(std::move(owner), elements);
  return result;
}

Tensor Tensor::strings(Shape shape, std::vector<std::string> elements) {
  Tensor result(DType::string, std::move(shape));
  std::move(elements.begin(), elements.end(), result.data<std::string>());
  return result;
}

Tensor Tensor::copied() const {
  Tensor result(type_);
  std::memcpy(result.raw(), raw(), static_cast<size_t>(bytes()));
  return result;
}

Tensor Tensor::reshaped(Shape shape) const {
  const int64_t wanted = element_count(shape);
  require(wanted == count(), "{} has {} elements, the shape {} has {}", to_string(type_), count(),
          to_string(shape), wanted);
  Tensor result = *this;
  result.type_.shape = std::move(shape);
  return result;
}

std::vector<int64_t> Tensor::to_ints() const {
  require(is_int(dtype()) || dtype() == DType::boolean, "integers are expected, not {}",
          to_string(type_));
  return dispatch(dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<int64_t> result(static_cast<size_t>(count()));
    for (size_t i = 0; i < result.size(); ++i) result[i] = static_cast<int64_t>(data<T>()[i]);
    return result;
  });
}

std::vector<double> Tensor::to_doubles() const {
  return dispatch(dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<double> result(static_cast<size_t>(count()));
    for (size_t i = 0; i < result.size(); ++i) result[i] = static_cast<double>(data<T>()[i]);
    return result;
  });
}

int64_t tensor_limit() {
  const int64_t chosen = limit_override.load(std::memory_order_relaxed);
  if (chosen > 0) return chosen;
  static const int64_t half_of_memory =
      static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE) / 2;
  return half_of_memory;
}

void set_tensor_limit(int64_t bytes) { limit_override.store(bytes, std::memory_order_relaxed); }

}  // namespace aoe
