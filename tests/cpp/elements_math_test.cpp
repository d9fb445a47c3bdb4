#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "tests/cpp/generated.h"

// The inlined functions of f32, against the C library's in double. The bounds are those of
// docs/numerics.md.

namespace aoe {
namespace {

struct Function {
  ExprOp op;
  double (*exact)(double);
  double ulps;         // largest error
  double lowest_size;  // below this the result may be zero
};

// Without AVX-512, smaller exponentials are flushed to zero.
constexpr double kSmallestExponential = 1.67e-38;

const std::vector<Function> kFunctions{{ExprOp::exp, std::exp, 2, kSmallestExponential},
                                       {ExprOp::log, std::log, 2, 0},
                                       {ExprOp::tanh, std::tanh, 4, 0},
                                       {ExprOp::erf, std::erf, 4, 0}};

// A million bit patterns of all exponents and both signs, and as many numbers of magnitudes that
// are usual in models.
std::vector<float> samples() {
  std::vector<float> values;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 3989) {
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  std::mt19937 random(5);
  for (const float reach : {1.0f, 5.0f, 20.0f, 100.0f}) {
    std::uniform_real_distribution<float> uniform(-reach, reach);
    for (int i = 0; i < 1 << 18; ++i) values.push_back(uniform(random));
  }
  for (const float edge : {0.0f, -0.0f, 1.0f, 88.722839f, 88.72284f, -87.33654f, -103.97208f,
                           -103.98f, 3.919206f, 3.925f, 9.01f, 9.02f, INFINITY, -INFINITY}) {
    for (const float near : {std::nextafter(edge, -1e9f), edge, std::nextafter(edge, 1e9f)}) {
      values.push_back(near);
    }
  }
  values.push_back(std::bit_cast<float>(0x7fc00001));  // a NaN with a payload
  values.push_back(std::bit_cast<float>(0xffffffff));
  while (values.size() % 96 != 0) values.push_back(0);
  return values;
}

// Distance in units of the last place of the nearest float.
double error_in_ulps(float got, double exact) {
  const auto nearest = static_cast<float>(exact);
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) && std::isnan(got) ? 0 : 1e9;
  if (std::isinf(nearest) || std::isinf(got)) return nearest == got ? 0 : 1e9;
  const float size = std::max(std::fabs(nearest), std::numeric_limits<float>::min());
  const double unit = static_cast<double>(std::nextafter(size, INFINITY)) - double{size};
  return std::fabs(double{got} - exact) / unit;
}

class ElementsMath : public testing::TestWithParam<Device> {};
INSTANTIATE_TEST_SUITE_P(Host, ElementsMath, testing::ValuesIn(host_devices()),
                         [](const auto& device) {
                           return std::string(device.param.widest_vectors());
                         });

Generated::Body body_of(ExprOp op, int lanes) {
  return Generated::loop(lanes, [=](Elements& elements, llvm::IRBuilder<>& b,
                                    const Generated::Arguments& arguments, llvm::Value* position) {
    llvm::Value* const x =
        elements.load(DType::f32, Generated::at(b, DType::f32, arguments[0], position), lanes);
    elements.store(DType::f32, elements.unary(op, DType::f32, x),
                   Generated::at(b, DType::f32, arguments[2], position));
  });
}

TEST_P(ElementsMath, ErrorsAreWithinTheDocumentedBounds) {
  const std::vector<float> inputs = samples();
  std::vector<float> results(inputs.size());
  for (const int lanes : {1, 3, 4, 8, 16, 32}) {
    std::vector<Generated::Body> bodies;
    for (const Function& function : kFunctions) bodies.push_back(body_of(function.op, lanes));
    const Generated generated(GetParam(), "ulps " + std::to_string(lanes), bodies);
    for (size_t i = 0; i < kFunctions.size(); ++i) {
      const Function& function = kFunctions[i];
      generated.run(i, inputs.data(), nullptr, results.data(), 0,
                    static_cast<int64_t>(inputs.size()));
      double worst = 0;
      float worst_at = 0;
      for (size_t k = 0; k < inputs.size(); ++k) {
        const double exact = function.exact(double{inputs[k]});
        if (std::fabs(exact) < function.lowest_size && results[k] == 0) continue;
        const double error = error_in_ulps(results[k], exact);
        if (error > worst) {
          worst = error;
          worst_at = inputs[k];
        }
      }
      RecordProperty(std::string(name(function.op)), std::to_string(worst));
      EXPECT_LE(worst, function.ulps)
          << name(function.op) << " of " << worst_at << " in " << lanes << " lanes";
    }
  }
}

// Properties that models rely on: exp(-inf) is 0 (masks), saturation does not overshoot, the sign
// of zero is kept.
TEST_P(ElementsMath, EndsAreExact) {
  struct End {
    ExprOp op;
    float x;
    float y;
  };
  const std::vector<End> ends{{ExprOp::exp, 0, 1},          {ExprOp::exp, -INFINITY, 0},
                              {ExprOp::exp, -1e30f, 0},     {ExprOp::exp, INFINITY, INFINITY},
                              {ExprOp::exp, 89, INFINITY},  {ExprOp::log, 1, 0},
                              {ExprOp::log, 0, -INFINITY},  {ExprOp::log, INFINITY, INFINITY},
                              {ExprOp::tanh, -0.0f, -0.0f}, {ExprOp::tanh, INFINITY, 1},
                              {ExprOp::tanh, -20, -1},      {ExprOp::erf, -0.0f, -0.0f},
                              {ExprOp::erf, 5, 1},          {ExprOp::erf, -INFINITY, -1}};
  std::vector<Generated::Body> bodies;
  bodies.reserve(ends.size());
  for (const End& end : ends) bodies.push_back(body_of(end.op, 16));
  const Generated generated(GetParam(), "ends", bodies);
  for (size_t i = 0; i < ends.size(); ++i) {
    const std::vector<float> x(16, ends[i].x);
    std::vector<float> y(16);
    generated.run(i, x.data(), nullptr, y.data(), 0, 16);
    EXPECT_EQ(std::bit_cast<uint32_t>(y[5]), std::bit_cast<uint32_t>(ends[i].y))
        << name(ends[i].op) << " of " << ends[i].x << " is " << y[5];
  }
}

TEST_P(ElementsMath, SaturatingFunctionsStayWithinOne) {
  std::vector<float> inputs;
  for (float x = 2; x < 12; x += 0x1p-14f) inputs.push_back(x);
  inputs.resize(inputs.size() / 16 * 16);
  std::vector<float> results(inputs.size());
  const Generated generated(GetParam(), "saturation",
                            {body_of(ExprOp::tanh, 16), body_of(ExprOp::erf, 16)});
  for (size_t i = 0; i < 2; ++i) {
    generated.run(i, inputs.data(), nullptr, results.data(), 0,
                  static_cast<int64_t>(inputs.size()));
    EXPECT_LE(*std::max_element(results.begin(), results.end()), 1.0f);
  }
}

}  // namespace
}  // namespace aoe
