#include "codegen/jit/math_library.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace aoe {
namespace {

// base^exponent modulo 2^64.
uint64_t power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (uint64_t square = base; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result *= square;
    square *= square;
  }
  return result;
}

// base^exponent, wrapping around; for a negative exponent the reciprocal, rounded towards zero.
int64_t signed_power(int64_t base, int64_t exponent) {
  if (exponent >= 0) {
    return static_cast<int64_t>(
        power(static_cast<uint64_t>(base), static_cast<uint64_t>(exponent)));
  }
  if (base == 1) return 1;
  if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  return 0;
}

using F1 = float (*)(float);
using F2 = float (*)(float, float);
using D1 = double (*)(double);
using D2 = double (*)(double, double);

std::vector<LibraryFunction> all_functions() {
  std::vector<LibraryFunction> all;
  const auto add = [&](std::string name, auto* function) {
    all.push_back({std::move(name), reinterpret_cast<void*>(function)});
  };
  const auto add_both = [&](const std::string& name, F1 of_floats, D1 of_doubles) {
    add(name + "f", of_floats);
    add(name, of_doubles);
  };
  add_both("aoe_sin", ::sinf, ::sin);
  add_both("aoe_cos", ::cosf, ::cos);
  add_both("aoe_tan", ::tanf, ::tan);
  add_both("aoe_asin", ::asinf, ::asin);
  add_both("aoe_acos", ::acosf, ::acos);
  add_both("aoe_atan", ::atanf, ::atan);
  add_both("aoe_sinh", ::sinhf, ::sinh);
  add_both("aoe_cosh", ::coshf, ::cosh);
  add_both("aoe_asinh", ::asinhf, ::asinh);
  add_both("aoe_acosh", ::acoshf, ::acosh);
  add_both("aoe_atanh", ::atanhf, ::atanh);
  add("aoe_exp", D1{::exp});
  add("aoe_log", D1{::log});
  add("aoe_tanh", D1{::tanh});
  add("aoe_erf", D1{::erf});
  add("aoe_powf", F2{::powf});
  add("aoe_pow", D2{::pow});
  add("aoe_fmodf", F2{::fmodf});
  add("aoe_fmod", D2{::fmod});
  add("aoe_pow_i64", signed_power);
  add("aoe_pow_u64", power);
  add("memcpy", ::memcpy);
  add("memmove", ::memmove);
  add("memset", ::memset);
  add_both("floor", ::floorf, ::floor);
  add_both("ceil", ::ceilf, ::ceil);
  add_both("roundeven", ::roundevenf, ::roundeven);
  return all;
}

}  // namespace

std::span<const LibraryFunction> library_functions() {
  static const std::vector<LibraryFunction> functions = all_functions();
  return functions;
}

}  // namespace aoe
