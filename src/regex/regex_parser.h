#pragma once

#include <string>

#include "regex/regex.h"

namespace aoe {

// A parsed regular expression.
struct RegexNode {
  enum class Kind : uint8_t { one_of, check, sequence, alternatives, repeat };
  static constexpr int kNoLimit = -1;

  Kind kind = Kind::sequence;
  Regex::Set set;
  Regex::Check check = Regex::Check::text_begin;
  std::vector<RegexNode> parts;
  int least = 0;
  int most = 0;
};

RegexNode parse_regex(const std::u32string& pattern);

// The characters of a class that `letter` names after a backslash (d, w, s and the capitals for
// what they leave out), or of one named as in [[:alpha:]]; empty if there is none of that name.
Regex::Set perl_class(char32_t letter);
Regex::Set posix_class(std::string_view name);

// In order and without overlap; what is in none of the ranges; ASCII letters in both cases.
Regex::Set normalized(Regex::Set set);
Regex::Set complement(const Regex::Set& set);
Regex::Set both_cases(Regex::Set set);

}  // namespace aoe
