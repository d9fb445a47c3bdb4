#include "regex/regex_parser.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "base/error.h"

// A recursive-descent parser. In reading order:
//
//   unquoted              rewrites \Q...\E to escaped characters before parsing
//   alternatives          a|b|c, within which flags are restored at the end
//   sequence              atoms with their repetitions
//   atom, group, escape   single characters, classes, checks, (groups) and (?flags)
//   bracketed             [classes]
//   repetition            * + ? {n,m}
//
// at_ is the position of the next character. Patterns come from untrusted models, so nesting and
// repetitions are limited.

namespace aoe {
namespace {

constexpr int kMaxDepth = 500;     // of nested groups: the parser recurses
constexpr int kMaxRepeats = 1000;  // in one {n,m}, as in RE2
constexpr char32_t kNone = 0xffffffff;

bool is_octal(char32_t c) { return c >= '0' && c <= '7'; }

int hex_digit(char32_t c) {
  if (c >= '0' && c <= '9') return static_cast<int>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<int>(c - 'a') + 10;
  if (c >= 'A' && c <= 'F') return static_cast<int>(c - 'A') + 10;
  return -1;
}

bool is_letter_or_digit(char32_t c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

// The pattern with each character between \Q and \E escaped instead.
std::u32string unquoted(const std::u32string& pattern) {
  std::u32string result;
  bool quoting = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const bool more = i + 1 < pattern.size();
    if (pattern[i] == '\\' && more && pattern[i + 1] == (quoting ? 'E' : 'Q')) {
      quoting = !quoting;
      ++i;
    } else if (quoting) {
      if (!is_letter_or_digit(pattern[i])) result.push_back('\\');
      result.push_back(pattern[i]);
    } else {
      result.push_back(pattern[i]);
      if (pattern[i] == '\\' && more) result.push_back(pattern[++i]);
    }
  }
  return result;
}

class Parser {
 public:
  explicit Parser(const std::u32string& pattern) : pattern_(pattern) {}

  RegexNode parse() {
    RegexNode node = alternatives(0);
    require(at_ == pattern_.size(), "an unexpected ')' at {}", at_);
    return node;
  }

 private:
  struct Flags {
    bool ignore_case = false;
    bool lines = false;  // ^ and $ match at the ends of each line
    bool dot_is_all = false;
  };

  char32_t peek(size_t ahead = 0) const {
    return at_ + ahead < pattern_.size() ? pattern_[at_ + ahead] : kNone;
  }
  bool take(char32_t c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  char32_t next() {
    require(at_ < pattern_.size(), "it ends too early");
    return pattern_[at_++];
  }

  RegexNode one_of(Regex::Set set) const {
    RegexNode node;
    node.kind = RegexNode::Kind::one_of;
    node.set = flags_.ignore_case ? both_cases(std::move(set)) : std::move(set);
    return node;
  }
  static RegexNode check(Regex::Check what) {
    RegexNode node;
    node.kind = RegexNode::Kind::check;
    node.check = what;
    return node;
  }

  RegexNode alternatives(int depth);
  RegexNode sequence(int depth);
  RegexNode atom(int depth);
  RegexNode group(int depth);
  void read_flags();
  RegexNode escape();
  Regex::Set bracketed();
  Regex::Set bracketed_item();
  char32_t escaped_character();
  std::optional<std::pair<int, int>> repetition();
  std::optional<int> number();

  const std::u32string& pattern_;
  size_t at_ = 0;
  Flags flags_;
};

RegexNode Parser::alternatives(int depth) {
  require(depth < kMaxDepth, "groups are nested too deeply");
  const Flags outer = flags_;
  RegexNode node;
  node.kind = RegexNode::Kind::alternatives;
  do {
    node.parts.push_back(sequence(depth));
  } while (take('|'));
  flags_ = outer;
  return node;
}

RegexNode Parser::sequence(int depth) {
  RegexNode node;
  while (at_ < pattern_.size() && peek() != '|' && peek() != ')') {
    RegexNode part = atom(depth);
    if (const auto times = repetition()) {
      RegexNode repeat;
      repeat.kind = RegexNode::Kind::repeat;
      std::tie(repeat.least, repeat.most) = *times;
      repeat.parts.push_back(std::move(part));
      part = std::move(repeat);
      take('?');  // lazy: the same strings match
      require(!repetition(), "a repetition of a repetition at {}", at_);
    }
    node.parts.push_back(std::move(part));
  }
  return node;
}

RegexNode Parser::atom(int depth) {
  const char32_t c = next();
  switch (c) {
    case '(': return group(depth);
    case '[': return one_of(bracketed());
    case '\\': return escape();
    case '.': return one_of(flags_.dot_is_all ? complement({}) : complement({{U'\n', U'\n'}}));
    case '^': return check(flags_.lines ? Regex::Check::line_begin : Regex::Check::text_begin);
    case '$': return check(flags_.lines ? Regex::Check::line_end : Regex::Check::text_end);
    case '*':
    case '+':
    case '?': fail("nothing to repeat at {}", at_ - 1);
    default: return one_of({{c, c}});
  }
}

RegexNode Parser::group(int depth) {
  if (take('?')) {
    if (peek() == '<' || (peek() == 'P' && peek(1) == '<')) {
      while (next() != '>') {
      }
    } else {
      const Flags outer = flags_;
      read_flags();
      if (take(')')) return {};  // flags for the rest of the enclosing group
      require(take(':'), "an unknown group at {}", at_);
      RegexNode node = alternatives(depth + 1);
      flags_ = outer;
      require(take(')'), "a ')' is missing");
      return node;
    }
  }
  RegexNode node = alternatives(depth + 1);
  require(take(')'), "a ')' is missing");
  return node;
}

void Parser::read_flags() {
  bool on = true;
  while (peek() != ':' && peek() != ')') {
    switch (next()) {
      case '-': on = false; break;
      case 'i': flags_.ignore_case = on; break;
      case 'm': flags_.lines = on; break;
      case 's': flags_.dot_is_all = on; break;
      case 'U': break;  // laziness: the same strings match
      default: fail("an unknown flag at {}", at_ - 1);
    }
  }
}

RegexNode Parser::escape() {
  switch (peek()) {
    case 'A': ++at_; return check(Regex::Check::text_begin);
    case 'z': ++at_; return check(Regex::Check::text_end);
    case 'b': ++at_; return check(Regex::Check::word_edge);
    case 'B': ++at_; return check(Regex::Check::no_word_edge);
    default: break;
  }
  if (Regex::Set known = perl_class(peek()); !known.empty()) {
    ++at_;
    return one_of(std::move(known));
  }
  const char32_t c = escaped_character();
  return one_of({{c, c}});
}

Regex::Set Parser::bracketed() {
  const bool negated = take('^');
  Regex::Set set;
  do {  // a ']' in the first place is a character
    for (const auto& range : bracketed_item()) set.push_back(range);
  } while (!take(']'));
  set = normalized(flags_.ignore_case ? both_cases(std::move(set)) : std::move(set));
  return negated ? complement(set) : set;
}

Regex::Set Parser::bracketed_item() {
  if (peek() == '[' && peek(1) == ':') {
    const size_t end = pattern_.find(U":]", at_ + 2);
    require(end != std::u32string::npos, "a ':]' is missing");
    const std::string name(pattern_.begin() + static_cast<int64_t>(at_) + 2,
                           pattern_.begin() + static_cast<int64_t>(end));
    const Regex::Set known = posix_class(name);
    require(!known.empty(), "an unknown class at {}", at_);
    at_ = end + 2;
    return known;
  }
  const auto character = [&]() { return take('\\') ? escaped_character() : next(); };
  if (peek() == '\\') {
    if (const Regex::Set known = perl_class(peek(1)); !known.empty()) {
      at_ += 2;
      return known;
    }
  }
  const char32_t first = character();
  if (peek() != '-' || peek(1) == ']') return {{first, first}};
  ++at_;
  const char32_t last = character();
  require(first <= last, "a range that ends before it begins at {}", at_);
  return {{first, last}};
}

char32_t Parser::escaped_character() {
  const char32_t c = next();
  switch (c) {
    case 'a': return '\a';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'v': return '\v';
    default: break;
  }
  if (is_octal(c)) {
    require(c == '0' || is_octal(peek()), "a reference to a group, which is not supported, at {}",
            at_);
    char32_t value = c - '0';
    for (int i = 0; i < 2 && is_octal(peek()); ++i) value = value * 8 + (next() - '0');
    return value;
  }
  if (c == 'x') {
    const bool braces = take('{');
    char32_t value = 0;
    int digits = 0;
    while (hex_digit(peek()) >= 0 && (braces || digits < 2)) {
      value = value * 16 + static_cast<char32_t>(hex_digit(next()));
      require(value <= 0x10ffff, "a character beyond Unicode at {}", at_);
      ++digits;
    }
    require((braces ? take('}') && digits > 0 : digits == 2), "an incomplete \\x at {}", at_);
    return value;
  }
  require(!is_letter_or_digit(c), "an unknown escape at {}", at_ - 1);
  return c;
}

std::optional<int> Parser::number() {
  int value = 0;
  const size_t start = at_;
  while (peek() >= '0' && peek() <= '9') {
    value = value * 10 + static_cast<int>(next() - '0');
    require(value <= kMaxRepeats, "more than {} repetitions", kMaxRepeats);
  }
  return at_ > start ? std::optional(value) : std::nullopt;
}

// Minimum and maximum number of repetitions. Braces that are not a repetition are characters.
std::optional<std::pair<int, int>> Parser::repetition() {
  if (take('*')) return {{0, RegexNode::kNoLimit}};
  if (take('+')) return {{1, RegexNode::kNoLimit}};
  if (take('?')) return {{0, 1}};
  const size_t start = at_;
  if (!take('{')) return std::nullopt;
  const auto least = number();
  auto most = least;
  if (take(',')) most = peek() == '}' ? RegexNode::kNoLimit : number();
  if (!least || !most || !take('}')) {
    at_ = start;
    return std::nullopt;
  }
  require(*most == RegexNode::kNoLimit || *least <= *most, "repetitions from {} to {}", *least,
          *most);
  return {{*least, *most}};
}

}  // namespace

RegexNode parse_regex(const std::u32string& pattern) {
  const std::u32string plain = unquoted(pattern);
  return Parser(plain).parse();
}

}  // namespace aoe
