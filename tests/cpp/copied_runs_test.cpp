#include "plan/copied_runs.h"

#include <gtest/gtest.h>

#include "expr/parse.h"

namespace aoe {
namespace {

using Runs = std::vector<CopiedRun>;

TEST(CopiedRuns, AreWhatIsNothingButCopied) {
  const struct {
    const char* what;
    const char* workload;
    std::optional<Runs> runs;  // of the first output
  } cases[] = {
      {"another shape", "in %0 f32[2,6]\nview %1 f32[3,4] = %0\nout %1\n", Runs{{0, 0, 0, 12}}},
      {"an axis of one moved", "in %0 f32[1,5,7]\n%1 f32[5,1,7] = %0[0, a, c]\nout %1\n",
       Runs{{0, 0, 0, 35}}},
      {"the slowest axis sliced", "in %0 f32[1,8,3]\n%1 f32[1,2,3] = %0[a, b + 4, c]\nout %1\n",
       Runs{{0, 12, 0, 6}}},
      {"another axis sliced", "in %0 f32[2,8,3]\n%1 f32[2,2,3] = %0[a, b + 4, c]\nout %1\n",
       std::nullopt},
      {"a slice of another shape",
       "in %0 f32[4,6]\nview %1 f32[8,3] = %0\n%2 f32[3,3] = %1[a + 2, b]\nout %2\n",
       Runs{{0, 6, 0, 9}}},
      {"backwards", "in %0 f32[4]\n%1 f32[4] = %0[3 - a]\nout %1\n", std::nullopt},
      {"each twice", "in %0 f32[4]\n%1 f32[2,4] = %0[b]\nout %1\n", std::nullopt},
      {"transposed", "in %0 f32[4,5]\n%1 f32[5,4] = %0[b, a]\nout %1\n", std::nullopt},
      {"one behind the other",
       "in %0 f32[1,2,4]\nin %1 f32[1,3,4]\n"
       "%2 f32[1,5,4] = select(b < 2, %0[a, b, c], %1[a, b - 2, c])\nout %2\n",
       Runs{{0, 0, 0, 8}, {1, 0, 8, 12}}},
      {"side by side",
       "in %0 f32[2,4]\nin %1 f32[2,4]\n"
       "%2 f32[2,8] = select(b < 4, %0[a, b], %1[a, b - 4])\nout %2\n",
       std::nullopt},
      {"padded", "in %0 f32[4]\n%1 f32[6] = %0[a - 1]?0\nout %1\n", std::nullopt},
      {"converted", "in %0 i32[4]\n%1 f32[4] = f32(%0[a])\nout %1\n", std::nullopt},
      {"computed", "in %0 f32[4]\n%1 f32[4] = neg(%0[a])\nout %1\n", std::nullopt},
      {"looked up", "in %0 f32[4]\nin %1 i64[4]\n%2 f32[4] = %0[%1[a]]\nout %2\n", std::nullopt},
      {"nothing at all", "in %0 f32[0,4]\n%1 f32[0,4] = %0[a, b]\nout %1\n", Runs{}},
  };
  for (const auto& [what, text, runs] : cases) {
    SCOPED_TRACE(what);
    EXPECT_EQ(copied_runs(parse_workload(text), 0), runs);
  }
}

}  // namespace
}  // namespace aoe
