#include <gtest/gtest.h>

#include "base/error.h"
#include "base/utf8.h"
#include "regex/regex.h"

namespace aoe {
namespace {

struct Case {
  std::string_view pattern;
  std::vector<std::string_view> matching;
  std::vector<std::string_view> other;
};

const std::vector<Case> kCases{
    {"", {""}, {"a"}},
    {"a|bc|", {"a", "bc", ""}, {"abc", "b"}},
    {"a.c",
     {"abc",
      "a\xc3\xa9"
      "c"},
     {"a\nc", "ac", "abbc"}},
    {"(?s)a.c", {"a\nc"}, {"ac"}},
    {"ab*c+d?", {"acd", "abbbcc", "ac"}, {"abd", "acdd"}},
    {"(ab)*?", {"", "abab"}, {"aba"}},
    {"a{2}b{1,}c{0,2}", {"aab", "aabbcc"}, {"ab", "aabccc"}},
    {"a{,2}", {"a{,2}"}, {"aa"}},
    {"x{y}", {"x{y}"}, {"xy"}},
    {"[a-c]+[^a-c\\d]", {"abc-"}, {"abca", "ab5"}},
    {"[]^-]+", {"]^-"}, {"a"}},
    {"[[:alpha:]][[:^digit:]]", {"a_", "Zz"}, {"a1", "1a"}},
    {"\\w+\\s\\W\\S\\D", {"ab_9 -xy"}, {"ab-x"}},
    {"www\\.[\\w.-]+\\.\\bcom\\b", {"www.a-b.com"}, {"www.a.org"}},
    {"(\\W|^)x(\\W|$)", {"x", " x", "-x-"}, {"ax"}},
    {"(?m)a$\n^b", {"a\nb"}, {"ab"}},
    {"(?i)aBc[x-z]", {"AbCY"}, {"abd"}},
    {"(?i:a)b", {"Ab"}, {"AB"}},
    {"(?P<name>a)(?:b)(?<other>c)", {"abc"}, {"ab"}},
    {"\\x41\\x{e9}\\101\\t",
     {"A\xc3\xa9"
      "A\t"},
     {"A"}},
    {"\\Qa.b\\E+", {"a.bbb"}, {"a.ba.b", "axb"}},
    {"[\xc3\xa0-\xc3\xbc]{2}", {"\xc3\xa9\xc3\xbc"}, {"ab", "\xc3\xa9"}},
};

TEST(Regex, MatchesWholeStrings) {
  for (const Case& c : kCases) {
    const Regex regex(c.pattern);
    for (const auto text : c.matching) EXPECT_TRUE(regex.matches(text)) << c.pattern << " " << text;
    for (const auto text : c.other) EXPECT_FALSE(regex.matches(text)) << c.pattern << " " << text;
  }
}

TEST(Regex, SaysWhatIsWrongWithAPattern) {
  const std::vector<std::pair<std::string, std::string_view>> cases{
      {"(a", "a ')' is missing"},
      {"a)", "an unexpected ')' at 1"},
      {"[a", "it ends too early"},
      {"*a", "nothing to repeat at 0"},
      {"a**", "a repetition of a repetition"},
      {"[b-a]", "a range that ends before it begins"},
      {"[[:nothing:]]", "an unknown class"},
      {"\\pN", "an unknown escape"},
      {"(a)\\1", "a reference to a group"},
      {"a{1001}", "more than 1000 repetitions"},
      {"((((a{1000}){1000}){1000}){1000})", "the pattern is too large"},
      {"((((){1000}){1000}){1000})", "the pattern is too large"},
      {std::string(100'000, '('), "groups are nested too deeply"},
  };
  for (const auto& [pattern, cause] : cases) {
    try {
      const Regex regex(pattern);
      ADD_FAILURE() << pattern;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(cause), std::string::npos) << error.what();
    }
  }
}

TEST(Regex, TimeGrowsLinearlyWithTheText) {
  EXPECT_FALSE(Regex("(a*)*(a|aa)+b").matches(std::string(20'000, 'a')));
}

TEST(Utf8, BrokenSequencesBecomeReplacements) {
  EXPECT_EQ(utf8_decoded("a\xc3\xa9\xf0\x9f\x98\x80"), U"a\u00e9\U0001f600");
  EXPECT_EQ(utf8_decoded("\xc3(\xed\xa0\x80\xff"), U"\ufffd(\ufffd\ufffd\ufffd\ufffd");
  EXPECT_EQ(utf8_encoded(U"a\u00e9\u20ac\U0001f600"), "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
}

}  // namespace
}  // namespace aoe
