#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <thread>

#include "aoe/aoe.h"
#include "aoe/model.h"
#include "tests/cpp/onnx_builder.h"

// Tests of the public interfaces: aoe.h, and model.h, which is built on it.

namespace aoe {
namespace {

// y = x + (1, 2, 3), for two rows, or for a symbolic number of rows.
std::string addition(bool open) {
  OnnxBuilder b;
  if (open) {
    b.symbolic_input("x", {"N"});
    auto* dims = b.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
    dims->add_dim()->set_dim_value(3);
  } else {
    b.input("x", {2, 3});
  }
  b.floats("b", {3}, {1, 2, 3});
  b.node("Add", {"x", "b"}, {"y"});
  b.output("y");
  return b.bytes();
}

// Positions of the non-zero elements: the shape of the output is known only at run time.
std::string positions() {
  OnnxBuilder b;
  b.input("x", {4});
  b.node("NonZero", {"x"}, {"y"});
  b.output("y");
  return b.bytes();
}

std::string of_strings() {
  OnnxBuilder b;
  b.input("x", {2}, AOE_STRING);
  b.node("Identity", {"x"}, {"y"});
  b.output("y");
  return b.bytes();
}

using ModelPointer = std::unique_ptr<aoe_model, decltype(&aoe_model_free)>;

ModelPointer loaded(const std::string& bytes, const aoe_options* options = nullptr) {
  aoe_model* model = nullptr;
  EXPECT_EQ(aoe_model_load_bytes(bytes.data(), bytes.size(), options, &model), AOE_OK)
      << aoe_error();
  return {model, aoe_model_free};
}

template <typename T, size_t count>
aoe_input given(const std::array<T, count>& elements, std::span<const int64_t> shape = {}) {
  return input_view<T>(elements, shape);
}

TEST(CInterface, SaysWhatGoesInAndOut) {
  const ModelPointer fixed = loaded(addition(false));
  ASSERT_EQ(aoe_model_input_count(fixed.get()), 1u);
  ASSERT_EQ(aoe_model_output_count(fixed.get()), 1u);
  for (const aoe_info* info : {aoe_model_input(fixed.get(), 0), aoe_model_output(fixed.get(), 0)}) {
    EXPECT_EQ(info->dtype, AOE_FLOAT32);
    ASSERT_EQ(info->rank, 2u);
    EXPECT_EQ(info->shape[0], 2);
    EXPECT_EQ(info->shape[1], 3);
    EXPECT_EQ(info->bytes, 24u);
  }
  EXPECT_STREQ(aoe_model_input(fixed.get(), 0)->name, "x");
  EXPECT_STREQ(aoe_model_output(fixed.get(), 0)->name, "y");
  EXPECT_EQ(aoe_model_input(fixed.get(), 1), nullptr);
  EXPECT_EQ(aoe_model_output(fixed.get(), 1), nullptr);

  const ModelPointer open = loaded(addition(true));
  const aoe_info* x = aoe_model_input(open.get(), 0);
  ASSERT_EQ(x->rank, 2u);
  EXPECT_EQ(x->shape[0], -1);
  EXPECT_EQ(x->shape[1], 3);
  EXPECT_EQ(x->bytes, 0u);
  EXPECT_EQ(aoe_model_output(open.get(), 0)->shape, nullptr);
}

TEST(CInterface, WritesTheCallersMemoryAndNothingAroundIt) {
  const ModelPointer model = loaded(addition(false));
  const std::array<float, 6> x{0, 1, 2, 3, 4, 5};
  for (const size_t offset : {0, 1, 2, 3}) {  // outputs need not be aligned to vectors
    std::array<float, 12> memory;
    memory.fill(-1);
    aoe_output y = output_view<float>(std::span(memory).subspan(offset, 6));
    const aoe_input input = given(x);
    ASSERT_EQ(aoe_model_run(model.get(), &input, 1, &y, 1), AOE_OK) << aoe_error();
    std::array<float, 12> expected;
    expected.fill(-1);
    const std::array<float, 6> sums{1, 3, 5, 4, 6, 8};
    std::copy(sums.begin(), sums.end(), expected.begin() + static_cast<ptrdiff_t>(offset));
    EXPECT_EQ(memory, expected);
    EXPECT_EQ(y.bytes, 24u);
    EXPECT_EQ(y.owner, nullptr);
    EXPECT_EQ(std::vector<int64_t>(y.shape, y.shape + y.rank), (std::vector<int64_t>{2, 3}));
  }
}

TEST(CInterface, SaysHowMuchMemoryAnOutputNeeds) {
  const ModelPointer model = loaded(addition(true));
  const std::array<float, 9> x{};
  const std::array<int64_t, 2> shape{3, 3};
  const aoe_input input = given(x, shape);
  std::array<float, 9> memory;
  memory.fill(-1);
  aoe_output y = output_view<float>(std::span(memory).first(8));
  ASSERT_EQ(aoe_model_run(model.get(), &input, 1, &y, 1), AOE_TOO_SMALL);
  EXPECT_STREQ(aoe_error(), "output 'y' takes 36 bytes, the memory given has 32");
  EXPECT_EQ(y.bytes, 36u);
  EXPECT_EQ(std::vector<int64_t>(y.shape, y.shape + y.rank), (std::vector<int64_t>{3, 3}));
  EXPECT_EQ(memory[0], -1);
  y.room = y.bytes;
  ASSERT_EQ(aoe_model_run(model.get(), &input, 1, &y, 1), AOE_OK) << aoe_error();
  EXPECT_EQ(memory, (std::array<float, 9>{1, 2, 3, 1, 2, 3, 1, 2, 3}));
}

TEST(CInterface, FindsMemoryForOutputsWithoutSome) {
  const ModelPointer model = loaded(positions());
  aoe_output y{};
  for (const std::array<float, 4>& x : {std::array<float, 4>{0, 5, 0, 5}, {0, 0, 5, 0}}) {
    const aoe_input input = given(x);
    ASSERT_EQ(aoe_model_run(model.get(), &input, 1, &y, 1), AOE_OK) << aoe_error();
    std::vector<int64_t> expected;
    for (int64_t i = 0; i < 4; ++i) {
      if (x[static_cast<size_t>(i)] != 0) expected.push_back(i);
    }
    EXPECT_EQ(y.dtype, AOE_INT64);
    ASSERT_NE(y.owner, nullptr);
    EXPECT_EQ(y.room, 16u);  // the memory of the first run serves the second
    EXPECT_EQ(y.bytes, 8 * expected.size());
    EXPECT_EQ(std::memcmp(y.data, expected.data(), y.bytes), 0);
  }
  const std::array<float, 4> more{1, 1, 1, 0};
  const aoe_input input = given(more);
  EXPECT_EQ(aoe_model_run(model.get(), &input, 1, &y, 1), AOE_TOO_SMALL);
  EXPECT_EQ(y.bytes, 24u);
  aoe_output_free(&y);
  EXPECT_EQ(y.data, nullptr);
  EXPECT_EQ(aoe_model_run(model.get(), &input, 1, &y, 1), AOE_OK) << aoe_error();
  EXPECT_EQ(y.room, 24u);
  aoe_output_free(&y);
  aoe_output_free(&y);  // freeing twice is harmless
}

TEST(CInterface, BytesAreBooleans) {
  OnnxBuilder b;
  b.input("x", {3}, AOE_BOOL);
  b.node("Not", {"x"}, {"y"});
  b.output("y");
  const ModelPointer model = loaded(b.bytes());
  const std::array<uint8_t, 3> x{0, 1, 200};
  const aoe_input input{AOE_BOOL, x.data(), x.size(), nullptr, 0};
  std::array<uint8_t, 3> memory{};
  aoe_output y{};
  y.dtype = AOE_BOOL;
  y.data = memory.data();
  y.room = memory.size();
  ASSERT_EQ(aoe_model_run(model.get(), &input, 1, &y, 1), AOE_OK) << aoe_error();
  EXPECT_EQ(memory, (std::array<uint8_t, 3>{1, 0, 0}));
}

TEST(CInterface, ElementsMayLieAnywhere) {
  const ModelPointer model = loaded(addition(false));
  std::array<std::byte, 25> from{};
  std::array<std::byte, 25> to{};
  const std::array<float, 6> x{0, 1, 2, 3, 4, 5};
  std::memcpy(from.data() + 1, x.data(), sizeof x);
  const aoe_input input{AOE_FLOAT32, from.data() + 1, sizeof x, nullptr, 0};
  aoe_output y{};
  y.dtype = AOE_FLOAT32;
  y.data = to.data() + 1;
  y.room = sizeof x;
  ASSERT_EQ(aoe_model_run(model.get(), &input, 1, &y, 1), AOE_OK) << aoe_error();
  std::array<float, 6> sums;
  std::memcpy(sums.data(), to.data() + 1, sizeof sums);
  EXPECT_EQ(sums, (std::array<float, 6>{1, 3, 5, 4, 6, 8}));
}

TEST(CInterface, OptionalInputsMayBeLeftOut) {
  OnnxBuilder b;
  auto* info = b.graph().add_input();
  info->set_name("x");
  info->mutable_type()
      ->mutable_optional_type()
      ->mutable_elem_type()
      ->mutable_tensor_type()
      ->set_elem_type(AOE_FLOAT32);
  b.node("OptionalHasElement", {"x"}, {"y"});
  b.output("y");
  const ModelPointer model = loaded(b.bytes());
  EXPECT_EQ(aoe_model_input(model.get(), 0)->dtype, AOE_UNKNOWN);
  const std::array<float, 6> x{};
  const std::array<int64_t, 1> shape{6};
  for (const bool present : {false, true}) {
    const aoe_input input = present ? given(x, shape) : aoe_input{};
    bool has = !present;
    aoe_output y = output_view<bool>(std::span(&has, 1));
    ASSERT_EQ(aoe_model_run(model.get(), &input, 1, &y, 1), AOE_OK) << aoe_error();
    EXPECT_EQ(has, present);
    EXPECT_EQ(y.rank, 0u);
  }
}

constexpr std::array<float, 6> kSix{};
constexpr std::array<int64_t, 2> kTwoByThree{2, 3};
constexpr std::array<int64_t, 2> kThreeByTwo{3, 2};

TEST(CInterface, RefusesWhatDoesNotFit) {
  struct Case {
    bool open;
    aoe_input input;
    size_t input_count;
    aoe_dtype output;
    const char* message;
  };
  const aoe_input right = given(kSix, kTwoByThree);
  const Case cases[] = {
      {false, right, 0, AOE_FLOAT32, "the model has 1 inputs"},
      {false, {}, 1, AOE_FLOAT32, "input 'x' (float32[2, 3]) is not given"},
      {false, {AOE_FLOAT32, nullptr, 24, nullptr, 0}, 1, AOE_FLOAT32, "is NULL but has 24 bytes"},
      {false,
       {AOE_FLOAT32, kSix.data(), 20, nullptr, 0},
       1,
       AOE_FLOAT32,
       "input 'x': float32[2, 3] has 24 bytes, 20 are given"},
      {false,
       {AOE_INT32, kSix.data(), 24, nullptr, 0},
       1,
       AOE_FLOAT32,
       "input 'x' is float32[2, 3], int32[2, 3] is given"},
      {false, {AOE_STRING, kSix.data(), 24, nullptr, 0}, 1, AOE_FLOAT32, "cannot be given"},
      {false, {99, kSix.data(), 24, nullptr, 0}, 1, AOE_FLOAT32, "element type 99"},
      {false, given(kSix, kThreeByTwo), 1, AOE_FLOAT32, "axis 0 has 2 elements, 3 are given"},
      {true, given(kSix), 1, AOE_FLOAT32, "input 'x' is float32[N, 3]: a run must give its shape"},
      {true, given(kSix, kThreeByTwo), 1, AOE_FLOAT32, "axis 1 has 3 elements, 2 are given"},
      {true, right, 1, AOE_FLOAT64, "output 'y' is float32[2, 3]; the memory given is for float64"},
  };
  const ModelPointer fixed = loaded(addition(false));
  const ModelPointer open = loaded(addition(true));
  for (const Case& c : cases) {
    SCOPED_TRACE(c.message);
    const aoe_model* model = (c.open ? open : fixed).get();
    std::array<float, 6> memory{};
    aoe_output y = output_view<float>(memory);
    y.dtype = c.output;
    EXPECT_EQ(aoe_model_run(model, &c.input, c.input_count, &y, 1), AOE_FAILED);
    EXPECT_NE(std::string(aoe_error()).find(c.message), std::string::npos) << aoe_error();
    y.dtype = AOE_FLOAT32;
    EXPECT_EQ(aoe_model_run(model, &right, 1, &y, 1), AOE_OK) << aoe_error();
  }
  const ModelPointer strings = loaded(of_strings());
  EXPECT_EQ(aoe_model_input(strings.get(), 0)->dtype, AOE_STRING);
  EXPECT_EQ(aoe_model_input(strings.get(), 0)->bytes, 0u);
}

TEST(CInterface, RefusesWhatCannotBeLoaded) {
  struct Newer {
    aoe_options options;
    void* unknown;
  };
  const aoe_input_shape no_such{"z", kTwoByThree.data(), 2};
  const aoe_input_shape endless{"x", kTwoByThree.data(), static_cast<size_t>(-1)};
  const aoe_input_shape scalar{"x", nullptr, 0};
  const std::array twice{scalar, scalar};
  Newer newer{{sizeof(Newer), 0, nullptr, nullptr, 0}, nullptr};
  const std::string bytes = addition(true);
  aoe_model* model = nullptr;
  EXPECT_EQ(aoe_model_load_bytes(bytes.data(), bytes.size(), &newer.options, &model), AOE_OK);
  aoe_model_free(model);
  newer.unknown = &newer;

  struct Case {
    aoe_options options;
    const char* message;
  };
  const size_t size = sizeof(aoe_options);
  const Case cases[] = {
      {{0, 0, nullptr, nullptr, 0}, "options.size is 0; sizeof(aoe_options) is expected"},
      {{size, -1, nullptr, nullptr, 0}, "threads is -1"},
      {{size, 2'000'000'000, nullptr, nullptr, 0},
       "threads is 2000000000; a number from 0 to 1024 is expected"},
      {{size, 0, nullptr, twice.data(), 2}, "options.input_shapes names 'x' twice"},
      {{size, 0, nullptr, &endless, 1}, "input 'x' is given 18446744073709551615 dimensions"},
      {{size, 0, "avx1024", nullptr, 0}, "kernels is 'avx1024'"},
      {{size, 0, nullptr, nullptr, 1}, "input_shapes is NULL"},
      {{size, 0, nullptr, &no_such, 1}, "'z', which is not an input"},
  };
  const auto expect_refusal = [&](const aoe_options& options, const char* message) {
    model = nullptr;
    EXPECT_EQ(aoe_model_load_bytes(bytes.data(), bytes.size(), &options, &model), AOE_FAILED);
    EXPECT_EQ(model, nullptr);
    EXPECT_NE(std::string(aoe_error()).find(message), std::string::npos) << aoe_error();
  };
  for (const Case& c : cases) expect_refusal(c.options, c.message);
  expect_refusal(newer.options, "options sets members that version");

  EXPECT_EQ(aoe_model_load("/nonexistent/model.onnx", nullptr, &model), AOE_FAILED);
  EXPECT_STREQ(aoe_error(), "model '/nonexistent/model.onnx': there is no such file");
  EXPECT_EQ(aoe_model_load(nullptr, nullptr, &model), AOE_FAILED);
  EXPECT_EQ(aoe_model_load_bytes(nullptr, 0, nullptr, &model), AOE_FAILED);
  std::thread([] { EXPECT_STREQ(aoe_error(), ""); }).join();  // a thread's errors are its own
}

TEST(CInterface, OptionsFixShapesAndKernels) {
  const aoe_input_shape shape{"x", kTwoByThree.data(), 2};
  const aoe_options options{sizeof options, 1, "reference", &shape, 1};
  const ModelPointer model = loaded(addition(true), &options);
  EXPECT_EQ(aoe_model_input(model.get(), 0)->bytes, 24u);
  const aoe_input input = given(kSix);
  std::array<float, 6> memory{};
  aoe_output y = output_view<float>(memory);
  ASSERT_EQ(aoe_model_run(model.get(), &input, 1, &y, 1), AOE_OK) << aoe_error();
  EXPECT_EQ(memory, (std::array<float, 6>{1, 2, 3, 1, 2, 3}));
}

TEST(CInterface, NullArgumentsAreSafe) {
  EXPECT_EQ(aoe_model_input_count(nullptr), 0u);
  EXPECT_EQ(aoe_model_output_count(nullptr), 0u);
  EXPECT_EQ(aoe_model_input(nullptr, 0), nullptr);
  EXPECT_EQ(aoe_model_output(nullptr, 0), nullptr);
  EXPECT_EQ(aoe_dtype_named(nullptr), AOE_UNKNOWN);
  aoe_output_free(nullptr);
  aoe_model_free(nullptr);
}

TEST(CInterface, ARankIsCheckedBeforeItsShapeIsRead) {
  const ModelPointer model = loaded(addition(true));
  aoe_input input = given(kSix, kTwoByThree);
  input.rank = static_cast<size_t>(-1);
  std::array<float, 6> memory{};
  aoe_output y = output_view<float>(memory);
  EXPECT_EQ(aoe_model_run(model.get(), &input, 1, &y, 1), AOE_FAILED);
  EXPECT_STREQ(aoe_error(), "input 'x' is given 18446744073709551615 dimensions, more than 16");
}

TEST(CInterface, ManyThreadsRunOneModel) {
  const ModelPointer model = loaded(addition(true));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t rows = 1; rows < 40; ++rows) {
        const std::vector<float> x(static_cast<size_t>(3 * rows), static_cast<float>(t));
        std::vector<float> memory(x.size());
        const std::array<int64_t, 2> shape{rows, 3};
        const aoe_input input = input_view<float>(x, shape);
        aoe_output y = output_view<float>(memory);
        ASSERT_EQ(aoe_model_run(model.get(), &input, 1, &y, 1), AOE_OK) << aoe_error();
        for (size_t i = 0; i < memory.size(); ++i) {
          ASSERT_EQ(memory[i], static_cast<float>(t + 1) + static_cast<float>(i % 3));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(CInterface, TypesHaveNumpysNamesAndOnnxsNumbers) {
  EXPECT_STREQ(aoe_dtype_name(AOE_BFLOAT16), "bfloat16");
  EXPECT_STREQ(aoe_dtype_name(AOE_UNKNOWN), "unknown");
  EXPECT_EQ(aoe_dtype_named("complex64"), AOE_UNKNOWN);
  EXPECT_EQ(aoe_dtype_bytes(AOE_FLOAT64), 8u);
  EXPECT_EQ(aoe_dtype_bytes(AOE_INT4), 1u);
  EXPECT_EQ(aoe_dtype_bytes(AOE_STRING), 0u);
  for (aoe_dtype dtype = AOE_FLOAT32; dtype <= AOE_INT2; ++dtype) {
    if (dtype == 14 || dtype == 15) continue;  // complex numbers
    EXPECT_EQ(aoe_dtype_named(aoe_dtype_name(dtype)), dtype) << dtype;
  }
}

TEST(CppInterface, RunsByNameAndOnViews) {
  const std::string bytes = addition(false);
  const auto model = Model::load(std::as_bytes(std::span(bytes)), {});
  ASSERT_TRUE(model) << model.error();
  EXPECT_EQ(model->inputs()[0].dtype, "float32");
  EXPECT_EQ(model->outputs()[0].shape, (std::vector<int64_t>{2, 3}));
  const std::array<float, 6> x{0, 1, 2, 3, 4, 5};
  const std::vector<float> expected{1, 3, 5, 4, 6, 8};

  const auto outputs = model->run({{"x", Array::of<float>({2, 3}, x)}});
  ASSERT_TRUE(outputs) << outputs.error();
  const Array& y = outputs->at("y");
  EXPECT_EQ(y.dtype, "float32");
  EXPECT_EQ(y.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(std::vector<float>(y.elements<float>().begin(), y.elements<float>().end()), expected);

  std::vector<float> memory(6);
  const std::array views{input_view<float>(x)};
  std::array results{output_view<float>(memory)};
  const auto done = model->run(views, results);
  ASSERT_TRUE(done) << done.error();
  EXPECT_EQ(memory, expected);
}

TEST(CppInterface, ErrorsAreValues) {
  EXPECT_FALSE(Model::load("/nonexistent/model.onnx"));
  const std::string bytes = addition(false);
  const auto model = Model::load(std::as_bytes(std::span(bytes)), {});
  ASSERT_TRUE(model) << model.error();
  EXPECT_EQ(model->run({{"z", {}}}).error(), "the model has no input 'z'");
  EXPECT_EQ(model->run({}).error(), "input 'x' (float32[2, 3]) is not given");
  const auto wrong = model->run({{"x", Array::of<double>({1}, std::array{1.0})}});
  EXPECT_NE(wrong.error().find("float64[1] is given"), std::string::npos) << wrong.error();
  const auto done = model->run({}, {});
  EXPECT_FALSE(done);
  EXPECT_EQ(done.error(), "the model has 1 inputs, 0 are given");
}

}  // namespace
}  // namespace aoe
