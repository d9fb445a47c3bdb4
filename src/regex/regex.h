#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace aoe {

// A regular expression in RE2's syntax, matched against whole UTF-8 strings in time linear in their
// length: all states that the text so far can have led to are followed at once. What only matters
// to captures (names, laziness) is accepted and makes no difference. Case is ignored for ASCII
// letters only; Unicode classes (\p{Greek}) are not supported.
class Regex {
 public:
  explicit Regex(std::string_view pattern);

  bool matches(std::string_view text) const;

  // A set of characters: ranges in ascending order, ends included.
  using Set = std::vector<std::pair<char32_t, char32_t>>;

  enum class Check : uint8_t {
    text_begin,
    text_end,
    line_begin,
    line_end,
    word_edge,
    no_word_edge
  };

  struct Step {
    enum class Op : uint8_t {
      one_of,  // takes one character of the set
      fork,    // goes on here and there
      jump,
      check,  // goes on if the check holds at this place
      accept,
    };
    Op op = Op::accept;
    Check check = Check::text_begin;
    size_t target = 0;  // of fork and jump; others go on with the next step
    Set set;
  };

 private:
  // Adds `first` and all steps that it leads to without taking a character.
  void follow(size_t first, const std::u32string& text, size_t at, std::vector<size_t>& active,
              std::vector<size_t>& reached) const;

  std::vector<Step> steps_;
};

}  // namespace aoe
