#include "expr/lexer.h"

#include <algorithm>

#include "base/error.h"

namespace aoe {
namespace {

// Unlike those of <cctype>, independent of the locale.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name(char c) { return is_letter(c) || is_digit(c); }

size_t run(std::string_view text, size_t from, bool (*belongs)(char)) {
  while (from < text.size() && belongs(text[from])) ++from;
  return from;
}

size_t number_length(std::string_view text) {
  size_t at = run(text, 0, is_digit);
  if (at < text.size() && text[at] == '.') at = run(text, at + 1, is_digit);
  if (at < text.size() && text[at] == 'e') {
    size_t digits = at + 1;
    if (digits < text.size() && (text[digits] == '+' || text[digits] == '-')) ++digits;
    const size_t end = run(text, digits, is_digit);
    if (end > digits) at = end;
  }
  return at;
}

}  // namespace

std::string Token::place() const { return fmt::format("line {}, column {}", line, column); }

std::string Token::describe() const {
  if (kind == Kind::newline) return "the end of the line";
  if (kind == Kind::end) return "the end of the text";
  return fmt::format("'{}'", text);
}

Token Lexer::take(Token::Kind kind, size_t length) {
  const Token token{kind, rest_.substr(0, length), line_, column_};
  rest_.remove_prefix(length);
  column_ += static_cast<int64_t>(length);
  return token;
}

Token Lexer::next() {
  while (rest_.starts_with(' ')) take(Token::Kind::symbol, 1);
  if (rest_.empty()) return take(Token::Kind::end, 0);
  const char first = rest_[0];
  if (first == '\n') {
    const Token token = take(Token::Kind::newline, 1);
    ++line_;
    column_ = 1;
    return token;
  }
  if (is_digit(first)) return take(Token::Kind::number, number_length(rest_));
  if (is_letter(first)) return take(Token::Kind::name, run(rest_, 0, is_name));
  const auto sigil = [&](Token::Kind kind, bool (*belongs)(char)) {
    const size_t length = run(rest_, 1, belongs);
    require(length > 1, "line {}, column {}: a number is expected after '{}'", line_, column_,
            first);
    return take(kind, length);
  };
  switch (first) {
    case '%': return sigil(Token::Kind::value, is_digit);
    case '$': return sigil(Token::Kind::arg, is_digit);
    case '#': return sigil(Token::Kind::temporary, is_digit);
    case '@': return sigil(Token::Kind::hash, is_name);
    default: break;
  }
  for (const std::string_view two : {"->", "==", "<="}) {
    if (rest_.starts_with(two)) return take(Token::Kind::symbol, 2);
  }
  if (std::string_view("()[]{},;:=?|+-*/<&^").find(first) == std::string_view::npos) {
    fail("line {}, column {}: '{}' has no meaning here", line_, column_, first);
  }
  return take(Token::Kind::symbol, 1);
}

}  // namespace aoe
