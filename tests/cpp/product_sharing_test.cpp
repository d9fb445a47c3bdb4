#include "policy/product_sharing.h"

#include <gtest/gtest.h>

namespace aoe {
namespace {

TEST(ProductSharing, GivesEveryThreadWork) {
  const struct {
    const char* what;
    int64_t outer, rows, columns, depth;
    Side right;
    int64_t block;      // nc of the policy
    int64_t row_tiles;  // row tiles, of 8 rows each
    int threads;
    ProductSharing expected;
  } cases[] = {
      {"one thread", 1, 3136, 64, 576, Side::prepacked, 64, 392, 1, {64, 1, 1}},
      {"pixels of an image", 1, 3136, 64, 576, Side::prepacked, 64, 392, 2, {64, 2, 1}},
      {"few pixels, many channels", 1, 49, 960, 160, Side::prepacked, 960, 7, 2, {480, 1, 1}},
      {"one row", 1, 1, 3072, 768, Side::prepacked, 3072, 1, 2, {1536, 1, 1}},
      {"one row on four", 1, 1, 3072, 768, Side::prepacked, 3072, 1, 4, {768, 1, 1}},
      {"one row, blocks that end anywhere",
       1,
       1,
       3072,
       768,
       Side::prepacked,
       1000,
       1,
       2,
       {1000, 1, 1}},
      {"many matrices", 12, 128, 128, 64, Side::direct, 128, 16, 2, {128, 1, 1}},
      {"blocks that are packed", 1, 64, 3136, 576, Side::packed, 784, 8, 2, {784, 1, 1}},
      {"three of them", 1, 64, 3136, 576, Side::packed, 1100, 8, 2, {1100, 2, 1}},
      {"hardly anything", 1, 16, 64, 32, Side::prepacked, 64, 2, 2, {32, 1, 8}},
      {"nothing to share", 1, 8, 32, 768, Side::prepacked, 32, 1, 2, {32, 1, 1}},
  };
  for (const auto& [what, outer, rows, columns, depth, right, block, row_tiles, threads, expected] :
       cases) {
    SCOPED_TRACE(what);
    const ProductShape shape{outer, rows, columns,      depth, 1,
                             1,     rows, Side::direct, right, DType::f32};
    ProductPolicy policy;
    policy.lanes = 16;
    policy.vectors = 2;
    policy.columns = block;
    EXPECT_EQ(product_sharing(shape, policy, row_tiles, threads), expected);
  }
}

}  // namespace
}  // namespace aoe
