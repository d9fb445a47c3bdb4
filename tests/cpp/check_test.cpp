#include "measure/worker/numeric_check.h"

#include <gtest/gtest.h>

#include <cmath>

#include "expr/parse.h"
#include "measure/host/guarded_memory.h"

namespace aoe {
namespace {

Tensor floats(const std::vector<float>& elements) {
  return Tensor::of(elements, {static_cast<int64_t>(elements.size())});
}

TEST(Mismatch, IsTheFirstElementThatIsTooFar) {
  const Tensor expected = floats({1, -200, 3, INFINITY, NAN});
  EXPECT_FALSE(mismatch_of(expected, expected, 0));
  EXPECT_FALSE(mismatch_of(floats({1.01F, -200, 3, INFINITY, NAN}), expected, 1e-4));
  const auto wrong = mismatch_of(floats({1, -200, 3.5F, 7, NAN}), expected, 1e-4);
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->cause, Cause::wrong_result);
  EXPECT_EQ(wrong->detail, "element 2 is 3.5, not 3 (up to 0.02 may differ)");
  EXPECT_EQ(mismatch_of(floats({1, NAN, 3, INFINITY, NAN}), expected, 1e-4)->cause,
            Cause::not_a_number);
  EXPECT_EQ(mismatch_of(floats({1, -200, 3, INFINITY, 5}), expected, 1e-4)->cause,
            Cause::wrong_result);
  EXPECT_TRUE(mismatch_of(floats({1, -200, 3, -INFINITY, NAN}), expected, 0.5));
}

TEST(Mismatch, LetsFewElementsLieBehindAStep) {
  const Tensor expected = Tensor::of(std::vector<int32_t>{1, 2, 3}, {3});
  const Tensor one_off = Tensor::of(std::vector<int32_t>{1, 3, 3}, {3});
  const Tensor two_off = Tensor::of(std::vector<int32_t>{1, 4, 3}, {3});
  EXPECT_TRUE(mismatch_of(one_off, expected, 0));
  EXPECT_FALSE(mismatch_of(one_off, expected, 0, 1));
  EXPECT_TRUE(mismatch_of(two_off, expected, 0, 1));
  EXPECT_TRUE(mismatch_of(Tensor::of(std::vector<int32_t>{2, 3, 3}, {3}), expected, 0, 1));
}

Workload elementwise(const std::string& expression, const std::string& type) {
  return parse_workload("in %0 f32[8]\n%1 " + type + "[8] = " + expression + "\nout %1\n");
}

TEST(Jumps, AreRoundingsAndComparisonsOfFloats) {
  EXPECT_FALSE(is_discontinuous(elementwise("max(%0[a], 0) * exp(%0[a])", "f32")));
  EXPECT_TRUE(is_discontinuous(elementwise("floor(%0[a])", "f32")));
  EXPECT_TRUE(is_discontinuous(elementwise("i32(%0[a])", "i32")));
}

TEST(GuardedMemory, SeesWhatIsWrittenBesideIt) {
  using Against = GuardedMemory::Against;
  GuardedMemory front(100, 4, Against::front, "output 0");
  EXPECT_FALSE(front.stray_write());
  front.elements()[0] = front.elements()[99] = std::byte{1};
  EXPECT_FALSE(front.stray_write());
  front.elements()[102] = std::byte{1};
  EXPECT_EQ(front.stray_write(), "3 bytes behind output 0");
  GuardedMemory back(100, 4, Against::back, "output 1");
  back.elements()[-2] = std::byte{1};
  EXPECT_EQ(back.stray_write(), "2 bytes before output 1");
}

TEST(GuardedMemory, KnowsWhoseNeighbourWasTouched) {
  const Tensor tensor = guarded_copy(floats({1, 2, 3}), GuardedMemory::Against::back, "input 5");
  Stray stray = {};
  ASSERT_TRUE(stray_at(tensor.raw() + tensor.bytes(), stray));
  EXPECT_EQ(to_string(stray), "the memory 1 bytes behind input 5 was touched");
  ASSERT_TRUE(stray_at(tensor.raw() - 5000, stray));
  EXPECT_EQ(to_string(stray), "the memory 5000 bytes before input 5 was touched");
  ASSERT_TRUE(stray_at(tensor.raw() + 4, stray));
  EXPECT_EQ(to_string(stray), "input 5 was written to");
  EXPECT_FALSE(stray_at(&stray, stray));
}

TEST(GuardedMemoryDeathTest, EndsWhoeverTouchesAPage) {
  GuardedMemory back(100, 4, GuardedMemory::Against::back, "output 1");
  EXPECT_DEATH(static_cast<volatile std::byte*>(back.elements())[100] = std::byte{1}, "");
}

}  // namespace
}  // namespace aoe
