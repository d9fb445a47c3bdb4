#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <numeric>

#include "tests/cpp/generated.h"

// Loads and stores stay within their elements: the adjacent memory is inaccessible.

namespace aoe {
namespace {

constexpr int kLanes = 16;

constexpr std::array kTypes{DType::f32, DType::f64, DType::f16,    DType::bf16,  DType::i8,
                            DType::i16, DType::i32, DType::i64,    DType::u8,    DType::boolean,
                            DType::u4,  DType::i2,  DType::f8e5m2, DType::f4e2m1};

// A page between two inaccessible ones.
class GuardedPage {
 public:
  GuardedPage() : size_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    void* const all = mmap(nullptr, 3 * size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(all != MAP_FAILED, "no memory");
    all_ = static_cast<std::byte*>(all);
    require(mprotect(begin(), size_, PROT_READ | PROT_WRITE) == 0, "no memory");
  }
  ~GuardedPage() { munmap(all_, 3 * size_); }
  GuardedPage(const GuardedPage&) = delete;
  GuardedPage& operator=(const GuardedPage&) = delete;

  std::byte* begin() const { return all_ + size_; }
  std::byte* end() const { return all_ + 2 * size_; }

 private:
  size_t size_;
  std::byte* all_ = nullptr;
};

class ElementsMemory : public testing::TestWithParam<Device> {};
INSTANTIATE_TEST_SUITE_P(Host, ElementsMemory, testing::ValuesIn(host_devices()),
                         [](const auto& device) {
                           return std::string(device.param.widest_vectors());
                         });

// True in the lanes from `first` on, below `last`.
llvm::Value* range_mask(llvm::IRBuilder<>& b, llvm::Value* first, llvm::Value* last, int lanes) {
  if (lanes == 1) {
    return b.CreateAnd(b.CreateICmpSLE(first, b.getInt64(0)), b.CreateICmpSGT(last, b.getInt64(0)));
  }
  std::vector<llvm::Constant*> numbers;
  for (int i = 0; i < lanes; ++i) numbers.push_back(b.getInt64(static_cast<uint64_t>(i)));
  llvm::Value* const lane = llvm::ConstantVector::get(numbers);
  const auto count = static_cast<unsigned>(lanes);
  return b.CreateAnd(b.CreateICmpSGE(lane, b.CreateVectorSplat(count, first)),
                     b.CreateICmpSLT(lane, b.CreateVectorSplat(count, last)));
}

// Copies the masked lanes from a to out; stores all lanes of the loaded vector, 1 outside the mask,
// to b.
Generated::Body masked_copy(DType dtype, int lanes) {
  return [=](Elements& elements, llvm::IRBuilder<>& b, const Generated::Arguments& arguments) {
    llvm::Value* const mask = range_mask(b, arguments[3], arguments[4], lanes);
    llvm::Value* const outside = elements.constant(Expr::integer(dtype, 1), 1);
    llvm::Value* const value = elements.load(dtype, arguments[0], lanes, mask, outside);
    elements.store(dtype, value, arguments[1]);
    elements.store(dtype, value, arguments[2], mask);
  };
}

// Pattern of the number 1.
std::vector<std::byte> one_of(DType dtype) {
  return dispatch(dtype, [](auto tag) {
    using T = typename decltype(tag)::type;
    const T one = static_cast<T>(1);
    const auto* bytes = reinterpret_cast<const std::byte*>(&one);
    return std::vector<std::byte>(bytes, bytes + sizeof(T));
  });
}

TEST_P(ElementsMemory, MasksKeepToTheirLanes) {
  const GuardedPage from;
  const GuardedPage to;
  for (const int lanes : {1, 5, kLanes}) {
    std::vector<Generated::Body> bodies;
    for (const DType dtype : kTypes) bodies.push_back(masked_copy(dtype, lanes));
    const Generated generated(GetParam(), "masks " + std::to_string(lanes), bodies);
    for (size_t i = 0; i < kTypes.size(); ++i) {
      const auto bytes = static_cast<size_t>(info(kTypes[i]).bytes);
      const std::vector<std::byte> one = one_of(kTypes[i]);
      for (int64_t first = 0; first <= lanes; ++first) {
        for (int64_t last = first; last <= lanes; ++last) {
          if (first != 0 && last != lanes && last != first + 2) continue;
          const auto count = static_cast<size_t>(last - first);
          // Masked-off lanes are before the page or after its end.
          for (const bool at_begin : {true, false}) {
            std::byte* const source = at_begin ? from.begin() : from.end() - count * bytes;
            std::byte* const target = at_begin ? to.begin() : to.end() - count * bytes;
            for (size_t k = 0; k < count * bytes; ++k) {
              source[k] = static_cast<std::byte>(k % 2);
            }
            std::memset(target, 0x55, count * bytes);
            std::vector<std::byte> seen(static_cast<size_t>(lanes) * bytes);
            const auto skipped = static_cast<size_t>(first) * bytes;
            generated.run(i, source - skipped, seen.data(), target - skipped, first, last);
            ASSERT_EQ(std::memcmp(source, target, count * bytes), 0)
                << name(kTypes[i]) << " lanes " << first << " to " << last;
            for (int64_t lane = 0; lane < lanes; ++lane) {
              const std::byte* const expected =
                  lane < first || lane >= last ? one.data()
                                               : source + static_cast<size_t>(lane - first) * bytes;
              ASSERT_EQ(std::memcmp(&seen[static_cast<size_t>(lane) * bytes], expected, bytes), 0)
                  << name(kTypes[i]) << " lane " << lane << " of " << first << " to " << last;
            }
          }
        }
      }
    }
  }
}

// out[i] = a[b[i]], where masked.
Generated::Body masked_gather(DType dtype, int lanes, bool masked) {
  return [=](Elements& elements, llvm::IRBuilder<>& b, const Generated::Arguments& arguments) {
    llvm::Value* const mask = masked ? range_mask(b, arguments[3], arguments[4], lanes) : nullptr;
    llvm::Value* const offsets = elements.load(DType::i64, arguments[1], lanes);
    llvm::Value* const outside = elements.constant(Expr::integer(dtype, 1), 1);
    elements.store(dtype, elements.gather(dtype, arguments[0], offsets, mask, outside),
                   arguments[2]);
  };
}

TEST_P(ElementsMemory, GathersReadWhatTheyAreTold) {
  constexpr int64_t kWild = int64_t{1} << 40;
  const GuardedPage page;
  for (const int lanes : {1, 3, kLanes}) {
    std::vector<Generated::Body> bodies;
    for (const DType dtype : kTypes) {
      bodies.push_back(masked_gather(dtype, lanes, true));
      bodies.push_back(masked_gather(dtype, lanes, false));
    }
    const Generated generated(GetParam(), "gathers " + std::to_string(lanes), bodies);
    for (size_t i = 0; i < bodies.size(); ++i) {
      const DType dtype = kTypes[i / 2];
      const auto bytes = static_cast<size_t>(info(dtype).bytes);
      for (std::byte* p = page.begin(); p != page.end(); ++p) *p = std::byte{0};
      std::byte* const last = page.end() - bytes;
      std::memcpy(last, one_of(dtype).data(), bytes);
      const bool masked = i % 2 == 0;
      // Offsets go backwards from the last element; the offset of the masked-off lane is invalid.
      std::vector<int64_t> offsets(static_cast<size_t>(lanes));
      for (size_t k = 0; k < offsets.size(); ++k) offsets[k] = -static_cast<int64_t>(k);
      if (masked) offsets.back() = kWild;
      std::vector<std::byte> got(offsets.size() * bytes);
      generated.run(i, last, offsets.data(), got.data(), 0, lanes - 1);
      const std::vector<std::byte> zero(bytes);
      for (size_t k = 0; k < offsets.size(); ++k) {
        const bool is_one = k == 0 || (masked && k + 1 == offsets.size());
        EXPECT_EQ(std::memcmp(&got[k * bytes], is_one ? one_of(dtype).data() : zero.data(), bytes),
                  0)
            << name(dtype) << " lane " << k << " of " << lanes;
      }
    }
  }
}

TEST_P(ElementsMemory, StreamingStoresWriteTheSame) {
  const auto copy = [](DType dtype) {
    return Generated::loop(
        kLanes, [=](Elements& elements, llvm::IRBuilder<>& b, const Generated::Arguments& arguments,
                    llvm::Value* position) {
          llvm::Value* const from = Generated::at(b, dtype, arguments[0], position);
          llvm::Value* const to = Generated::at(b, dtype, arguments[2], position);
          elements.store(dtype, elements.load(dtype, from, kLanes), to, nullptr, true);
        });
  };
  const std::array types{DType::f32, DType::f64, DType::u8, DType::f16};
  std::vector<Generated::Body> bodies;
  for (const DType dtype : types) bodies.push_back(copy(dtype));
  const Generated generated(GetParam(), "streaming", bodies);
  alignas(64) std::array<uint8_t, 1024> from;
  alignas(64) std::array<uint8_t, 1024> to;
  for (size_t k = 0; k < from.size(); ++k) from[k] = static_cast<uint8_t>(k % 113);
  for (size_t i = 0; i < types.size(); ++i) {
    to.fill(0);
    generated.run(i, from.data(), nullptr, to.data(), 0,
                  static_cast<int64_t>(from.size()) / info(types[i]).bytes);
    EXPECT_EQ(from, to) << name(types[i]);
  }
}

}  // namespace
}  // namespace aoe
