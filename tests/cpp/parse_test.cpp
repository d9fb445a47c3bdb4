#include "expr/parse.h"

#include <gtest/gtest.h>

#include <bit>

#include "expr/builder.h"
#include "expr/text.h"
#include "tests/cpp/same_workload.h"

namespace aoe {
namespace {

// Canonical texts: each parses to a workload that prints as the same text.
const std::vector<std::string> kTexts{
    // Elementwise; a literal has the type of the operand next to it.
    "in %0 f32[2,3]\n%1 f32[2,3] = max(%0[a, b], 0)\nout %1\n",
    // A convolution whose padding reads as 0, and a view of it.
    // NOLINTNEXTLINE(bugprone-suspicious-missing-comma): one text in several lines
    "in %0 f32[1,8,10]\nin %1 f32[4,8,3]\nview %3 f32[4,10] = %2\n"
    "%2 f32[1,4,10] = sum(r:8,s:3) %0[a, r, (c + s) - 1]?0 * %1[b, r, s]\n"
    "%4 f32[4,10] = max(%3[a, b], 0)\nout %4\n",
    // Softmax.
    "in %0 f32[4,10]\n%1 f32[4] = max(r:10) %0[a, r]\n"
    "%2 f32[4] = sum(r:10) exp(%0[a, r] - %1[a])\n"
    "%3 f32[4,10] = exp(%0[a, b] - %1[a]) / %2[a]\nout %3\n",
    // Scalars, no outputs, an empty reduction.
    "in %0 f32[]\n%1 f32[] = sum() %0[]\nout\n",
    // Results computed from reduced values; several of them.
    "in %0 f16[8]\n%1 f16[], %2 i64[] = arg_max_last(r:8) %0[r]; r -> $0; $1 * 2\nout %1, %2\n",
    "in %0 f64[8]\n%1 f64[] = moments(r:8) 1; %0[r]; 0 -> $2 / $0\nout %1\n",
    "in %0 f32[8]\n%1 f16[] = sum(r:8) select(%0[r] < 0.5, 1:f32, 0:f32) -> f16($0 / 8)\nout %1\n",
    "in %0 bool[8]\n%1 i32[] = product(r:8) select(%0[r], 2, -1)\nout %1\n",
    // A custom reducer, and one that shares only its name with a predefined one.
    "in %0 f32[8]\n"
    "%1 f32[] = sum_and_count{0:f32; 0:i64 -> $0 + $2; $1 + $3}(r:8) %0[r]; 1 -> $0 / f32($1)\n"
    "out %1\n",
    "in %0 f32[8]\n%1 f32[] = sum{1:f32 -> $0 + $1}(r:8) %0[r]\nout %1\n",
    // Literals whose types do not follow from an operand; numbers of all kinds.
    "%0 f32[2] = f32(4:i64) + f32(0.5:f16)\nout %0\n",
    "%0 bool[2] = 1:u8 < 2:u8\nout %0\n",
    "%0 f32[] = nan\n%1 f32[] = -inf\n%2 f64[] = -0\n%3 u64[] = 18446744073709551615\n"
    "%4 i64[] = -9223372036854775808\n%5 bool[] = true\n%6 f32[] = 1e-07\n%7 bool[] = 2\n"
    "%8 f32[] = f32(true)\nout %0\n",
    "in %0 f32[4]\n%1 bool[4] = not(is_nan(%0[a])) & (false == (%0[a] <= 1.5))\nout %1\n",
    "in %0 i32[4]\n%1 i32[4] = bit_not(shl(%0[a], 2)) ^ (neg(%0[a]) | rem(%0[a], -3))\nout %1\n",
    // Loaded indexes; a value outside that is itself loaded.
    "in %0 f32[5]\nin %1 i32[4]\n%2 f32[4] = %0[i64(%1[a])]?%0[a]?-1\nout %2\n",
    // More axes than letters.
    "in %0 f32[1,1,1,1,1,1,1,1,1,2]\n%1 f32[1,1,1,1,1,1,1,1,1,2] = %0[a, b, c, d, e, f, g, h, h8, "
    "h9]\nout %1\n",
    // Contents of constants.
    "constant %0 f32[3] = 0.1, -inf, nan\nconstant %1 bool[] = true\nconstant %2 f16[2,0]\n"
    "constant %3 i4[2] = -8, 7\nconstant %4 f8e4m3fn[2] = 448, -0\n%5 f32[3] = %0[a] + 1\nout %5\n",
};

TEST(WorkloadText, ReadsBack) {
  for (const std::string& text : kTexts) {
    try {
      const Workload workload = parse_workload(text);
      EXPECT_EQ(to_string(workload), text);
      EXPECT_EQ(difference_between(parse_workload(to_string(workload)), workload), "");
    } catch (const Error& error) {
      ADD_FAILURE() << error.what() << "\n" << text;
    }
  }
}

TEST(WorkloadText, EverythingCutShortOrChangedIsAWorkloadOrAnError) {
  for (const std::string& text : kTexts) {
    for (size_t i = 0; i < text.size(); ++i) {
      for (const std::string_view put : {"", "0", "%", ")", "(", "\n", "-"}) {
        std::string changed = text;
        changed.replace(i, 1, put);
        try {
          const std::string printed = to_string(parse_workload(changed));
          EXPECT_EQ(to_string(parse_workload(printed)), printed);
        } catch (const Error&) {
          continue;
        }
      }
    }
  }
}

struct Broken {
  std::string text;
  std::string message;
};
// Texts of one stage, after an input.
const std::vector<Broken> kBrokenStages{
    {"%1 f32[4] = %0[a] +",
     "line 2, column 20: an expression is expected, not the end of the line"},
    {"%1 f32[4] = (%0[a]", "line 2, column 19: ')' is expected, not the end of the line"},
    {"%1 f32[4] = %0[a] + 1 + 2", "line 2, column 23: parentheses are needed before '+'"},
    {"%1 f32[4] = %0[b]", "line 2, column 16: there is no axis 'b' here"},
    {"%1 f32[4] = %0[a + 1]", "an index along axis 0 of float32[4] runs from 1 to 4"},
    {"%1 f32[4] = %0[a, a]", "line 2, column 19: ']' is expected, not 'a'"},
    {"%1 f32[4] = %0[]", "line 2, column 13: an index of 0 numbers into float32[4]"},
    {"%1 f32[4] = %0[%0[a]]", "line 2, column 13: an index is float32, not int64"},
    {"%1 f32[4] = %7[a]", "line 2, column 13: %7 is not declared"},
    {"%1 f32[4] = %1[a]", "line 2, column 13: %1 is read before it is computed"},
    {"%0 f32[4] = 1", "line 2, column 1: %0 is declared twice"},
    {"%2 f32[4] = 1", "the text has a value %2 but no %1"},
    {"%1 f32[4], %2 f32[5] = 1; 2", "line 2, column 12: the results of one stage have one shape"},
    {"%1 f32[4] = 1; 2:f32", "line 2, column 1: 2 results for 1 values"},
    {"%1 i32[4] = %0[a]", "line 2, column 1: %1 is int32, its expression float32"},
    {"%1 i32[4] = 1.5", "line 2, column 13: 1.5 does not fit into int32"},
    {"%1 u64[4] = -1", "line 2, column 13: -1 does not fit into uint64"},
    {"%1 f32[4] = 1e999", "line 2, column 13: 1e999 is out of range"},
    {"%1 f32[4] = f32(3)",
     "line 2, column 17: the type of 3 is ambiguous: write 3:f32 or another type"},
    {"%1 f32[4] = 3:f33", "line 2, column 15: 'f33' is no element type"},
    {"%1 f32[4] = %0[a] + a",
     "line 2, column 13: add of float32 and int64: both sides must have one type"},
    {"%1 f32[4] = select(%0[a], 1, 2)",
     "line 2, column 13: the condition of select is float32, not bool"},
    {"%1 f32[4] = halve(%0[a])", "line 2, column 13: no function is called 'halve'"},
    {"%1 f32[4] = string(%0[a])", "line 2, column 13: no function is called 'string'"},
    {"%1 f32[4] = average(r:3) 1", "line 2, column 13: no reduction is called 'average'"},
    {"%1 f32[4] = sum(s:3) 1", "line 2, column 17: this axis is called 'r', not 's'"},
    {"%1 f32[4] = sum(r:3) 1; 2:f32", "line 2, column 13: sum combines 1 values, 2 are given"},
    {"%1 f32[4] = sum(r:3) 1 -> f32(r)", "line 2, column 31: there is no axis 'r' here"},
    {"%1 f32[4] = sum(r:3) 1 -> $1", "line 2, column 27: $1 names no element of the reduction"},
    {"%1 f32[4] = arg_max(r:3) %0[a]; r",
     "line 2, column 34: the reduction gives 2 values: '->' is expected"},
    {"%1 f32[4] = arg_max(r:3) %0[a]; 1:i8 -> $0",
     "line 2, column 13: arg_max combines int64 here, int8 is given"},
    {"%1 f32[4] = best{0:f32 -> %0[0]}(r:3) 1",
     "line 2, column 27: a reduction combines without loading"},
    {"%1 f32[4] = best{0:f32 -> $0; $1}(r:3) 1",
     "line 2, column 13: 2 combinations for 1 identities"},
    {"%1 f32[4] = #0", "line 2, column 13: #0 is not defined in this list"},
    {"%1 f32[4] = #0 = %0[a]; #0 = %0[a]; #0", "line 2, column 25: #0 is defined twice"},
    {"%1 f32[4] = sum(r:3) #0 = %0[a]; #0 -> #0",
     "line 2, column 40: #0 is not defined in this list"},
    {"%1 f32[9223372036854775807,2] = 1",
     "line 2, column 4: float32[9223372036854775807, 2] is too large"},
    {"%1 f32[3037000499,3037000499] = 1", "line 2, column 4: "},
    {"in %1 i8[9223372036854775807]", "line 2, column 7: int8[9223372036854775807] is too large"},
    {"in %1 f32[18014398509481984]\nin %2 f32[18014398509481985]", "line 3, column 7: "},
    {"in %1 f32[0,9223372036854775807]", "line 2, column 7: "},
    {"%1 f32[4] = sum(r:9223372036854775807) %0[a]",
     "line 2, column 16: a stage over [4, 9223372036854775807] is too large"},
    {"%1 f32[4] = %0[a * 4611686018427387904]", "an index along axis 0 of float32[4] overflows"},
    {"%1 f32[4] = %0[(a * 2305843009213693952) * 8]?0", "an index along axis 0 of "},
    {"%1 f32[4] = %0[a + 9223372036854775807]?0", "an index along axis 0 of "},
    {"%1 f32[4] = %0[neg(-9223372036854775808)]?0", "an index along axis 0 of "},
    {"%1 f32[99999999999999999999] = 1",
     "line 2, column 8: '99999999999999999999' is no integer of 64 bits"},
    {"%99999999999 f32[] = 1", "line 2, column 1: '%99999999999' is too large a number"},
    {"view %1 f32[4] = %1", "line 2, column 6: %1 is a view of %1, which does not come before it"},
    {"view %1 f32[5] = %0", "line 2, column 6: float32[5] cannot be a view of float32[4]"},
    {"view %9 f32[4] = %8", "line 2, column 6: a view of %8, which is not declared"},
    {"view %2 f32[4] = %1\nview %1 f32[4] = %0",
     "line 2, column 6: a view of %1, which is itself a view and must come first"},
    {"constant %1 f32[2] = 1", "line 2, column 22: 1 elements for float32[2]"},
    {"constant %1 f32[99999999999] = 1", "line 2, column 32: 1 elements for float32[99999999999]"},
    {"constant %1 u8[1] = x", "line 2, column 21: a number is expected, not 'x'"},
    {"constant %1 f32[20] = @0123456789abcdef",
     "line 2, column 23: the text has only the hash of this constant, and its contents are not at "
     "hand"},
    {"constant %1 f32[20] = @01", "line 2, column 23: a hash has 16 hexadecimal digits"},
    {"in %1 string[4]", "line 2, column 7: 'string' is no element type"},
    {"in %1 f32[4] x", "line 2, column 14: the end of the line is expected, not 'x'"},
    {"in % f32[4]", "line 2, column 4: a number is expected after '%'"},
    {"sum",
     "line 2, column 1: 'in', 'weight', 'view', 'constant', 'out' or the value of a stage is "
     "expected, "
     "not 'sum'"},
    {"%1 f32[4] = %0[a] ! 1", "line 2, column 19: '!' has no meaning here"},
    {"out %0\nout %0", "line 3, column 1: the end of the text is expected, not 'out'"},
    {"out %5", "line 2, column 5: %5 is not declared"},
};

std::string message_of(const std::string& text) {
  try {
    parse_workload(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(WorkloadText, ErrorsSayWhereAndWhat) {
  for (const Broken& broken : kBrokenStages) {
    const std::string text = "in %0 f32[4]\n" + broken.text + "\nout %0\n";
    EXPECT_EQ(message_of(text).substr(0, broken.message.size()), broken.message) << text;
  }
  EXPECT_EQ(
      message_of("in %0 f32[4]"),
      "line 1, column 13: 'in', 'weight', 'view', 'constant', 'out' or the value of a stage is "
      "expected, not the end of the text");
}

std::string repeated(std::string_view text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

TEST(WorkloadText, SizeAndDepthAreBounded) {
  const std::string start = "in %0 f32[4]\n%1 f32[4] = ";
  EXPECT_NE(message_of(start + repeated("exp(", 100'000)).find("levels of nesting"),
            std::string::npos);
  EXPECT_NE(message_of(start + repeated("(", 100'000)).find("levels of nesting"),
            std::string::npos);
  EXPECT_NE(message_of(start + repeated("%0[a]?", 100'000)).find("levels of nesting"),
            std::string::npos);
  // The expanded expression doubles with each temporary.
  std::string doubling = "#0 = a + a; ";
  std::string deep = "#0 = exp(%0[a]); ";
  for (int i = 1; i < 5000; ++i) {
    if (i < 60) doubling += fmt::format("#{} = #{} + #{}; ", i, i - 1, i - 1);
    deep += fmt::format("#{} = exp(#{}); ", i, i - 1);
  }
  EXPECT_NE(message_of(start + doubling + "%0[#59]").find("the indexes have more than"),
            std::string::npos);
  EXPECT_NE(message_of(start + deep + "#4999").find("an expression of more than 4096 levels"),
            std::string::npos);
  EXPECT_EQ(message_of(std::string(2 << 20, ' ')),
            "a workload's text has 2097152 bytes, more than 1048576");
}

TEST(WorkloadText, WhatIsSharedIsWrittenOnce) {
  Builder b;
  const Operand x = b.input({DType::f32, {4}});
  const Operand y = b.map(x, [](Expr e) {
    for (int i = 0; i < 60; ++i) e = e * e + sqrt(e);
    return e;
  });
  const Workload workload = b.finish({y});
  const std::string text = to_string(workload);
  EXPECT_LT(text.size(), 3000u);
  const Workload again = parse_workload(text);
  EXPECT_EQ(to_string(again), text);
  EXPECT_EQ(difference_between(workload, again), "");
}

TEST(WorkloadText, HighExpressionsReadBack) {
  Builder b;
  const Operand x = b.input({DType::f32, {4}});
  const Operand y = b.compute({4}, [&](const Axes& i) {
    Expr e = x(i);
    for (int k = 0; k < 1500; ++k) e = select(lt(i[0], k), e, number_like(e, k));
    return e;
  });
  const Workload workload = b.finish({y});
  const Workload again = parse_workload(to_string(workload));
  EXPECT_EQ(to_string(again), to_string(workload));
  EXPECT_EQ(difference_between(workload, again), "");
}

TEST(WorkloadText, EqualSubexpressionsBecomeOneNode) {
  const Workload workload =
      parse_workload("in %0 f32[4]\n%1 f32[4] = exp(%0[a]) + exp(%0[a])\nout %1\n");
  const Expr& sum = workload.stages[0].results[0];
  EXPECT_EQ(&*sum->operands[0], &*sum->operands[1]);
}

TEST(WorkloadText, LargeConstantsAreNamedByTheirHash) {
  Builder b;
  std::vector<float> numbers(17, 0.5f);
  Tensor contents = Tensor::of(numbers, {17});
  const Operand c = b.constant(contents);
  const std::string text = to_string(b.finish({c}));
  EXPECT_EQ(text, fmt::format("constant %0 f32[17] = @{:016x}\nout %0\n", contents_hash(contents)));
  const Workload again = parse_workload(text, [&](uint64_t) { return contents; });
  EXPECT_EQ(to_string(again), text);
  numbers[3] = 0;
  EXPECT_THROW(parse_workload(text, [&](uint64_t) { return Tensor::of(numbers, {17}); }), Error);
}

TEST(WorkloadText, ConstantsThatDecimalsCannotSayAreNamedByTheirHash) {
  Builder b;
  const float odd = std::bit_cast<float>(0x7fc00123u);  // a NaN with a payload
  const std::string text = to_string(b.finish({b.constant(Tensor::scalar(odd))}));
  EXPECT_TRUE(text.starts_with("constant %0 f32[] = @")) << text;
}

TEST(WorkloadText, KeysAreTheSameEverywhere) {
  const Workload workload = parse_workload(kTexts[0]);
  EXPECT_EQ(key_of(workload), 11257275422288928665u);
  EXPECT_NE(key_of(workload), key_of(parse_workload(kTexts[1])));
}

}  // namespace
}  // namespace aoe
