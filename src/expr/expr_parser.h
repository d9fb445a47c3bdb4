#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "expr/expr_table.h"
#include "expr/lexer.h"
#include "expr/text.h"

namespace aoe {

// The type of a number that does not state one.
using Context = std::optional<DType>;

// Calls `fn`; prefixes an Error from it with the position in the text.
template <typename Fn>
auto with_error_location(const Token& at, const Fn& fn) {
  try {
    return fn();
  } catch (const Error& error) {
    throw error.within(at.place());
  }
}

// The tokens of a text with the current one, and functions that consume an expected token or fail.
class TokenStream {
 public:
  explicit TokenStream(std::string_view text) : lexer_(text), current_(lexer_.next()) {}

  const Token& current() const { return current_; }
  Token ahead(int count) const;
  void advance() { current_ = lexer_.next(); }

  Token expect(Token::Kind kind, std::string_view what);
  void expect(std::string_view symbol);
  [[noreturn]] void fail_expected(std::string_view what) const;

  // Consume a number: an extent, the number of a value, arg or temporary, a signed number.
  int64_t integer(std::string_view what);
  int64_t parse_index(Token::Kind kind, std::string_view what);
  NumberText number();
  bool at_number() const;

 private:
  Lexer lexer_;
  Token current_;
};

// Parses the expressions of one stage. The scope of a temporary is one list.
class ExprParser {
 public:
  // The type of a value that may be loaded; fails for others.
  using Values = std::function<TensorType(const Token& at, int64_t id)>;

  // `index_nodes` counts the nodes of all indexes of the workload; see kIndexNodes.
  ExprParser(TokenStream& tokens, size_t out_rank, Values values, int64_t& index_nodes)
      : axes(out_rank),
        tokens_(tokens),
        out_rank_(out_rank),
        values_(std::move(values)),
        index_nodes_(index_nodes) {}

  // What expressions may refer to at present: this many axes, args of these types, loads.
  size_t axes;
  std::vector<DType> args = {};
  bool loads = true;

  // Parses expressions separated by semicolons. Those beyond the end of `contexts` have none.
  std::vector<Expr> list(const std::vector<Context>& contexts);

 private:
  // An expression, or a number whose type is not known yet.
  struct Parsed {
    Token at;
    Expr expr;
    NumberText number = {};
  };

  Expr expression(Context context);
  Parsed infix_form(Context context);
  Parsed operand(Context context);
  Parsed number();
  Parsed named(Context context);
  Expr function(const Token& at, ExprOp op, Context context);
  Expr load();
  Expr argument();
  Expr axis(const Token& at) const;
  void define();

  Expr resolve_number(const Parsed& parsed, Context context);
  void finish_pair(Parsed& a, Parsed& b, Context context);
  Expr intern(const Token& at, const Expr& expr);

  TokenStream& tokens_;
  size_t out_rank_;
  Values values_;
  int64_t& index_nodes_;
  ExprTable table_;
  std::map<int64_t, Expr> temporaries_;
  int nesting_ = 0;
};

}  // namespace aoe
