#include "codegen/library.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace aoe {
namespace {

// Wraps around; a negative exponent gives the reciprocal, rounded towards zero.
uint64_t power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (uint64_t square = base; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result *= square;
    square *= square;
  }
  return result;
}

int64_t signed_power(int64_t base, int64_t exponent) {
  if (exponent >= 0) {
    return static_cast<int64_t>(
        power(static_cast<uint64_t>(base), static_cast<uint64_t>(exponent)));
  }
  if (base == 1) return 1;
  if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  return 0;
}

template <typename Result, typename... Args>
LibraryFunction entry(std::string_view name, Result (*function)(Args...)) {
  return {name, reinterpret_cast<void*>(function)};
}

using F1 = float (*)(float);
using F2 = float (*)(float, float);
using D1 = double (*)(double);
using D2 = double (*)(double, double);

}  // namespace

std::span<const LibraryFunction> library_functions() {
  static const std::array functions{
      entry<float>("aoe_sinf", F1{::sinf}),
      entry<float>("aoe_cosf", F1{::cosf}),
      entry<float>("aoe_tanf", F1{::tanf}),
      entry<float>("aoe_asinf", F1{::asinf}),
      entry<float>("aoe_acosf", F1{::acosf}),
      entry<float>("aoe_atanf", F1{::atanf}),
      entry<float>("aoe_sinhf", F1{::sinhf}),
      entry<float>("aoe_coshf", F1{::coshf}),
      entry<float>("aoe_asinhf", F1{::asinhf}),
      entry<float>("aoe_acoshf", F1{::acoshf}),
      entry<float>("aoe_atanhf", F1{::atanhf}),
      entry<float>("aoe_powf", F2{::powf}),
      entry<float>("aoe_fmodf", F2{::fmodf}),
      entry<double>("aoe_exp", D1{::exp}),
      entry<double>("aoe_log", D1{::log}),
      entry<double>("aoe_sin", D1{::sin}),
      entry<double>("aoe_cos", D1{::cos}),
      entry<double>("aoe_tan", D1{::tan}),
      entry<double>("aoe_asin", D1{::asin}),
      entry<double>("aoe_acos", D1{::acos}),
      entry<double>("aoe_atan", D1{::atan}),
      entry<double>("aoe_sinh", D1{::sinh}),
      entry<double>("aoe_cosh", D1{::cosh}),
      entry<double>("aoe_tanh", D1{::tanh}),
      entry<double>("aoe_asinh", D1{::asinh}),
      entry<double>("aoe_acosh", D1{::acosh}),
      entry<double>("aoe_atanh", D1{::atanh}),
      entry<double>("aoe_erf", D1{::erf}),
      entry<double>("aoe_pow", D2{::pow}),
      entry<double>("aoe_fmod", D2{::fmod}),
      entry<int64_t>("aoe_pow_i64", signed_power),
      entry<uint64_t>("aoe_pow_u64", power),
      entry("memcpy", ::memcpy),
      entry("memmove", ::memmove),
      entry("memset", ::memset),
      entry<float>("floorf", F1{::floorf}),
      entry<float>("ceilf", F1{::ceilf}),
      entry<float>("roundevenf", F1{::roundevenf}),
      entry<double>("floor", D1{::floor}),
      entry<double>("ceil", D1{::ceil}),
      entry<double>("roundeven", D1{::roundeven}),
  };
  return functions;
}

}  // namespace aoe
