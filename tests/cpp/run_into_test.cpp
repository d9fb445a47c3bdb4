#include <gtest/gtest.h>

#include <cstring>

#include "codegen/cpu_backend.h"
#include "runtime/loaded_model.h"
#include "tests/cpp/onnx_builder.h"

namespace aoe {
namespace {

LoadedModel load(const OnnxBuilder& builder, const LoadOptions& options = {}) {
  const std::string bytes = builder.bytes();
  return LoadedModel::from_bytes(std::as_bytes(std::span(bytes)), options, host_backend());
}

TensorView view(std::vector<float>& elements, const Shape& shape) {
  return {DType::f32, shape, elements.data()};
}

// y = softmax(x + shift), z = relu(x)
OnnxBuilder two_outputs() {
  OnnxBuilder b;
  b.input("x", {2, 3});
  b.floats("shift", {3}, {1, 2, 3});
  b.node("Add", {"x", "shift"}, {"sum"});
  b.node("Softmax", {"sum"}, {"y"});
  b.node("Relu", {"x"}, {"z"});
  b.output("y");
  b.output("z");
  return b;
}

const Shape kShape{2, 3};

TEST(RunInto, FillsTheCallersMemory) {
  for (const char* kernels : {"", "reference"}) {
    const LoadedModel model = load(two_outputs(), {.kernels = kernels});
    std::vector<float> x{1, -2, 3, -4, 5, -6};
    std::vector<float> y(6);
    std::vector<float> z(6);
    model.run_into({{view(x, kShape)}}, {{view(y, kShape), view(z, kShape)}});
    EXPECT_EQ(z, (std::vector<float>{1, 0, 3, 0, 5, 0}));
    const auto expected = model.run({{"x", Tensor::of(x, kShape)}});
    EXPECT_EQ(y, (std::vector<float>(expected[0].tensor().data<float>(),
                                     expected[0].tensor().data<float>() + 6)));
  }
}

TEST(RunInto, TakesMemoryOfAnyAlignment) {
  const LoadedModel model = load(two_outputs());
  std::vector<float> x{1, -2, 3, -4, 5, -6};
  std::vector<float> y(6);
  std::vector<float> z(6);
  model.run_into({{view(x, kShape)}}, {{view(y, kShape), view(z, kShape)}});
  constexpr size_t kBytes = 6 * sizeof(float);
  for (const size_t shift : {1, 2, 4, 12}) {
    alignas(64) std::byte in[kBytes + 16];
    alignas(64) std::byte first[kBytes + 16];
    alignas(64) std::byte second[kBytes + 16];
    std::memcpy(in + shift, x.data(), kBytes);
    model.run_into({{{DType::f32, kShape, in + shift}}},
                   {{{DType::f32, kShape, first + shift}, {DType::f32, kShape, second + shift}}});
    EXPECT_EQ(std::memcmp(first + shift, std::as_bytes(std::span(y)).data(), kBytes), 0) << shift;
    EXPECT_EQ(std::memcmp(second + shift, std::as_bytes(std::span(z)).data(), kBytes), 0) << shift;
  }
}

TEST(RunInto, TakesAnyByteButZeroAsTrue) {
  OnnxBuilder b;
  b.input("x", {3}, 9);
  b.node("Not", {"x"}, {"y"});
  b.output("y");
  const LoadedModel model = load(b);
  const Shape shape{3};
  uint8_t x[] = {0, 1, 200};
  uint8_t y[] = {7, 7, 7};
  model.run_into({{{DType::boolean, shape, x}}}, {{{DType::boolean, shape, y}}});
  EXPECT_EQ((std::vector<int>{y[0], y[1], y[2]}), (std::vector<int>{1, 0, 0}));
}

TEST(RunInto, GivesEachOutputItsOwnMemory) {
  // Outputs: an input, a constant, and another output under a second name.
  OnnxBuilder b;
  b.input("x", {2});
  b.floats("c", {2}, {5, 6});
  b.node("Identity", {"x"}, {"same"});
  b.node("Identity", {"c"}, {"fixed"});
  b.node("Relu", {"x"}, {"y"});
  b.node("Reshape", {"y", "flat"}, {"z"});
  b.ints("flat", {2, 1});
  for (const char* name : {"same", "fixed", "y", "z"}) b.output(name);
  const LoadedModel model = load(b);
  const Shape flat{2};
  const Shape column{2, 1};
  std::vector<float> x{-1, 2};
  std::vector<float> outputs[4] = {{0, 0}, {0, 0}, {0, 0}, {0, 0}};
  model.run_into({{view(x, flat)}}, {{view(outputs[0], flat), view(outputs[1], flat),
                                      view(outputs[2], flat), view(outputs[3], column)}});
  EXPECT_EQ(outputs[0], x);
  EXPECT_EQ(outputs[1], (std::vector<float>{5, 6}));
  EXPECT_EQ(outputs[2], (std::vector<float>{0, 2}));
  EXPECT_EQ(outputs[3], (std::vector<float>{0, 2}));
}

TEST(RunInto, TakesShapesThatEachCallFixes) {
  OnnxBuilder b;
  b.symbolic_input("x", {"rows", "columns"});
  b.node("Relu", {"x"}, {"y"});
  b.output("y");
  const LoadedModel model = load(b);
  for (const Shape& shape : {Shape{1, 4}, Shape{2, 2}}) {
    std::vector<float> x{1, -2, 3, -4};
    std::vector<float> y(4);
    model.run_into({{view(x, shape)}}, {{view(y, shape)}});
    EXPECT_EQ(y, (std::vector<float>{1, 0, 3, 0}));
  }
}

// A shape that is known only at run time is compared with the memory then.
TEST(RunInto, ChecksWhatOnlyARunKnows) {
  OnnxBuilder b;
  b.input("x", {3});
  b.node("NonZero", {"x"}, {"y"});
  b.output("y");
  const LoadedModel model = load(b);
  const Shape shape{3};
  const Shape two{1, 2};
  std::vector<float> x{1, 0, 2};
  int64_t y[] = {9, 9};
  model.run_into({{view(x, shape)}}, {{{DType::i64, two, y}}});
  EXPECT_EQ(y[1], 2);
  x[1] = 1;
  try {
    model.run_into({{view(x, shape)}}, {{{DType::i64, two, y}}});
    ADD_FAILURE() << "three places went into memory for two";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "output 'y' is int64[1, 3], memory is given for int64[1, 2]");
  }
}

TEST(RunInto, RefusesWhatDoesNotFit) {
  const LoadedModel model = load(two_outputs());
  std::vector<float> m(8);
  const Shape wide{2, 4};
  const Shape flat{6};
  const TensorView good{DType::f32, kShape, m.data()};
  const TensorView none{DType::f32, kShape, nullptr};
  using Views = std::vector<TensorView>;
  const struct {
    Views inputs, outputs;
    const char* message;
  } cases[] = {
      {{}, {good, good}, "the model has 1 inputs (x), 0 are given"},
      {{good}, {good}, "the model has 2 outputs (y, z), 1 are given"},
      {{{DType::i32, kShape, m.data()}},
       {good, good},
       "input 'x' is float32[2, 3], int32[2, 3] is given"},
      {{{DType::f32, flat, m.data()}},
       {good, good},
       "input 'x' is float32[2, 3], float32[6] is given"},
      {{{DType::f32, wide, m.data()}},
       {good, good},
       "input 'x': axis 1 has 3 elements, 4 are given"},
      {{good},
       {good, {DType::f32, wide, m.data()}},
       "output 'z' is float32[2, 3], memory is given for float32[2, 4]"},
      {{none}, {good, good}, "input 'x' is given without its elements"},
      {{good}, {none, good}, "output 'y' is asked for without memory for it"},
  };
  for (const auto& [inputs, outputs, message] : cases) {
    try {
      model.run_into(inputs, outputs);
      ADD_FAILURE() << "no error: " << message;
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), message);
    }
  }
}

}  // namespace
}  // namespace aoe
