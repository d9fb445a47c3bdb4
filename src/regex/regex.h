#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace aoe {

// A regular expression in RE2's syntax, compiled to an NFA whose states are all simulated at once:
// the time to match is linear in the length of the text. It matches whole UTF-8 strings. Syntax
// that affects only captures (names, laziness) is accepted and has no effect. Case is ignored for
// ASCII letters only; Unicode classes (\p{Greek}) are not supported.
class Regex {
 public:
  explicit Regex(std::string_view pattern);

  bool matches(std::string_view text) const;

  // A set of characters: disjoint ranges in ascending order, ends included.
  using Set = std::vector<std::pair<char32_t, char32_t>>;

  enum class Check : uint8_t {
    text_begin,
    text_end,
    line_begin,
    line_end,
    word_edge,
    no_word_edge
  };

  // A state of the NFA.
  struct Step {
    enum class Op : uint8_t {
      one_of,  // consumes one character of the set
      fork,    // continues both with the next step and at `target`
      jump,
      check,  // continues if the check holds at this position
      accept,
    };
    Op op = Op::accept;
    Check check = Check::text_begin;
    size_t target = 0;  // of fork and jump; all but jump and accept continue with the next step
    Set set;
  };

 private:
  // Adds to `active` the steps that consume or accept and are reached from `first` without
  // consuming a character (the epsilon closure). reached[step] - 1 is the position of the last
  // visit, so that a step is visited once per position.
  void follow(size_t first, const std::u32string& text, size_t at, std::vector<size_t>& active,
              std::vector<size_t>& reached) const;

  std::vector<Step> steps_;
};

}  // namespace aoe
