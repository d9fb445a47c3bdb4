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
  int least = 0;  // of a repeat
  int most = 0;   // of a repeat; kNoLimit if unbounded
};

RegexNode parse_regex(const std::u32string& pattern);

// The characters of the class \d, \w or \s, or of its complement \D, \W or \S; of a class named as
// in [[:alpha:]]. Empty if there is no such class.
Regex::Set perl_class(char32_t letter);
Regex::Set posix_class(std::string_view name);

// Sorts ranges and merges those that overlap or touch; returns all characters outside of the
// (normalized) set; adds the other case of its ASCII letters.
Regex::Set normalized(Regex::Set set);
Regex::Set complement(const Regex::Set& set);
Regex::Set both_cases(Regex::Set set);

}  // namespace aoe
