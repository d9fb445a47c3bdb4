#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace aoe {

// A token of a workload's text, and its position.
struct Token {
  enum class Kind : uint8_t {
    name,
    number,     // digits, a fraction, an exponent; no sign
    value,      // %3
    arg,        // $0
    temporary,  // #0
    hash,       // @0123456789abcdef
    symbol,
    newline,
    end,
  };

  Kind kind = Kind::end;
  std::string_view text;
  int64_t line = 1;
  int64_t column = 1;

  // "line 2, column 7"
  std::string place() const;
  // For messages: "'%3'", "the end of the line".
  std::string describe() const;
  bool is(std::string_view symbol) const { return kind == Kind::symbol && text == symbol; }
};

// Splits a text into tokens. A copy is cheap and serves to look ahead.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : rest_(text) {}

  Token next();

 private:
  Token take(Token::Kind kind, size_t length);

  std::string_view rest_;
  int64_t line_ = 1;
  int64_t column_ = 1;
};

}  // namespace aoe
