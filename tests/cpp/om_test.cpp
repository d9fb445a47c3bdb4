#include "frontend/om.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <limits>

#include "base/hash.h"
#include "runtime/loaded_model.h"
#include "tests/cpp/onnx_builder.h"
#include "tests/cpp/temporary_folder.h"

namespace aoe {
namespace {

std::vector<std::byte> counting(size_t count) {
  std::vector<std::byte> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 37);
  return bytes;
}

TEST(Checksum, EveryBitCounts) {
  for (const size_t size : {1, 8, 63, 64, 65, 200}) {
    std::vector<std::byte> bytes = counting(size);
    const uint64_t sum = checksum(bytes);
    for (size_t bit = 0; bit < 8 * size; ++bit) {
      bytes[bit / 8] ^= std::byte{1} << (bit % 8);
      EXPECT_NE(checksum(bytes), sum) << "bit " << bit << " of " << size << " bytes";
      bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    }
  }
}

// The same change in two words (for instance the signs of two floats) must not cancel out.
TEST(Checksum, PairsOfBitsCount) {
  std::vector<std::byte> bytes = counting(512);
  const uint64_t sum = checksum(bytes);
  for (size_t first = 7; first < bytes.size(); first += 8) {
    for (size_t second = first + 8; second < bytes.size(); second += 8) {
      for (const size_t at : {first, second}) bytes[at] ^= std::byte{0x80};
      EXPECT_NE(checksum(bytes), sum) << "bytes " << first << " and " << second;
      for (const size_t at : {first, second}) bytes[at] ^= std::byte{0x80};
    }
  }
}

TEST(Checksum, FillingTheLastBlockWithZerosDoesNot) {
  std::vector<std::byte> bytes = counting(70);
  const uint64_t sum = checksum(bytes);
  bytes.resize(128);
  EXPECT_EQ(checksum(bytes), sum);
  bytes.resize(192);
  EXPECT_NE(checksum(bytes), sum);
  EXPECT_NE(checksum(bytes, 1), checksum(bytes));
}

// Checksums are stored in files: a change of the function changes the format.
TEST(Checksum, StaysTheSame) {
  EXPECT_EQ(checksum({}), 0xafea29d80a6c590b);
  EXPECT_EQ(checksum(counting(100)), 0x10fdb45df73141be);
}

Graph copy_of(const Graph& graph) {
  const TemporaryFolder folder;
  OmModel model;
  model.graph = graph;
  write_om(folder.path() / "m.om", model);
  return load_om(folder.path() / "m.om").graph;
}

// One Identity node with these attributes.
Graph with_attributes(Attributes attributes) {
  OnnxBuilder builder;
  builder.input("x", {2});
  builder.node("Relu", {"x"}, {"y"});
  builder.output("y");
  Graph graph = builder.parse();
  graph.nodes[0].attributes = std::move(attributes);
  return graph;
}

// Bitwise equality.
template <typename T>
bool same(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
  } else return a == b;
}
bool same(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type()) return false;
  const auto* texts = a.dtype() == DType::string ? a.data<std::string>() : nullptr;
  if (texts != nullptr) return std::equal(texts, texts + a.count(), b.data<std::string>());
  return std::memcmp(a.raw(), b.raw(), static_cast<size_t>(a.bytes())) == 0;
}
template <typename T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const T& x, const T& y) { return same(x, y); });
}

TEST(Om, KeepsAttributesOfEveryKind) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor tensor = Tensor::of(std::vector<float>{1, nan, -0.0F}, {3, 1});
  const Attributes attributes{
      {"integer", std::numeric_limits<int64_t>::min()},
      {"real", -0.0F},
      {"text", std::string("any bytes \xff\0, not only UTF-8", 28)},
      {"tensor", tensor},
      {"strings", Tensor::strings({2}, {"", "\xff"})},
      {"type", ValueType(TensorType{DType::f8e5m2, {1, 0}})},
      {"open type", ValueType::sequence_of(std::nullopt)},
      {"integers", std::vector<int64_t>{-1, std::numeric_limits<int64_t>::max()}},
      {"no integers", std::vector<int64_t>{}},
      {"reals", std::vector<float>{nan, 1e-45F}},
      {"texts", std::vector<std::string>{"", "b"}},
      {"no texts", std::vector<std::string>{}},
      {"tensors", std::vector<Tensor>{tensor, Tensor(DType::i4, {0, 7})}},
      {"no tensors", std::vector<Tensor>{}},
  };
  const Attributes found = copy_of(with_attributes(attributes)).nodes[0].attributes;
  ASSERT_EQ(found.size(), attributes.size());
  for (const auto& [name, expected] : attributes) {
    ASSERT_EQ(found.at(name).index(), expected.index()) << name;
    std::visit(
        [&](const auto& value) {
          EXPECT_TRUE(same(std::get<std::decay_t<decltype(value)>>(found.at(name)), value)) << name;
        },
        expected);
  }
}

TEST(Om, WeightsAreAligned) {
  OnnxBuilder builder;
  builder.input("x", {3});
  for (const char* name : {"a", "b", "c"}) builder.floats(name, {3}, {1, 2, 3});
  builder.node("Sum", {"x", "a", "b", "c"}, {"y"});
  builder.output("y");
  const Graph graph = copy_of(builder.parse());
  int constants = 0;
  for (const GraphValue& value : graph.values) {
    if (!value.is_constant()) continue;
    ++constants;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(value.constant.raw()) % 64, 0) << value.name;
  }
  EXPECT_EQ(constants, 3);
}

// ONNX functions may nest subgraphs more deeply than an .om file can.
TEST(Om, RefusesSubgraphsThatCouldNotBeReadAgain) {
  const auto nested = [](int depth) {
    Graph graph = with_attributes({});
    for (int i = 0; i < depth; ++i) {
      Graph outer = with_attributes({});
      outer.nodes[0].bodies = {{"body", std::make_shared<const Graph>(std::move(graph)), {}}};
      graph = std::move(outer);
    }
    return graph;
  };
  Graph graph = copy_of(nested(64));
  int depth = 0;
  for (const Graph* at = &graph; !at->nodes[0].bodies.empty(); ++depth) {
    at = at->nodes[0].bodies[0].graph.get();
  }
  EXPECT_EQ(depth, 64);
  EXPECT_THROW(copy_of(nested(65)), Error);
}

}  // namespace
}  // namespace aoe
