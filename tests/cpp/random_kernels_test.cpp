#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/cpp/random_kernels.h"

namespace aoe {
namespace {

// Several tests, so that they share the cores; `make campaign` runs as many pairs as one likes.
class RandomKernels : public testing::TestWithParam<int> {};

TEST_P(RandomKernels, AgreeWithTheReference) {
  constexpr uint64_t kPairs = 75;
  const auto first = static_cast<uint64_t>(GetParam()) * kPairs;
  int halos = 0;
  for (uint64_t seed = first; seed < first + kPairs; ++seed) {
    PairKind kind;
    const auto announce = [](uint64_t which, const std::string&) {
      RecordProperty("seed", static_cast<int>(which));
    };
    const auto failure = failure_of_pair(seed, announce, &kind);
    if (failure) ADD_FAILURE() << *failure;
    halos += kind.halo ? 1 : 0;
  }
  EXPECT_GT(halos, 0) << "strips whose neighbours make the same";
}

INSTANTIATE_TEST_SUITE_P(Parts, RandomKernels, testing::Range(0, 4));

}  // namespace
}  // namespace aoe
