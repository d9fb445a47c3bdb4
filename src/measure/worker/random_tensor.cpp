#include "measure/worker/random_tensor.h"

#include <array>

namespace aoe {
namespace {

template <typename Make>
Tensor filled(const TensorType& type, std::mt19937& random, Make&& make_float) {
  Tensor tensor(type);
  dispatch(type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* elements = tensor.data<T>();
    for (int64_t i = 0; i < tensor.count(); ++i) {
      if (is_float(type.dtype)) elements[i] = static_cast<T>(make_float());
      else elements[i] = static_cast<T>(static_cast<int64_t>(random() & 1));
    }
  });
  return tensor;
}

}  // namespace

Tensor random_tensor(const TensorType& type, std::mt19937& random) {
  std::normal_distribution<float> normal;
  return filled(type, random, [&] { return normal(random); });
}

Tensor edge_case_tensor(const TensorType& type, std::mt19937& random) {
  constexpr std::array kOften{0.0F, -0.0F, 0.5F, -0.5F, 1.0F, -1.0F, 2.0F, -2.0F};
  constexpr std::array kRarely{16.0F, -16.0F};
  constexpr uint32_t kOneIn = 64;
  return filled(type, random, [&] {
    const uint32_t drawn = random();
    return drawn % kOneIn == 0 ? kRarely[drawn / kOneIn % kRarely.size()]
                               : kOften[drawn / kOneIn % kOften.size()];
  });
}

}  // namespace aoe
