#include "expr/expr_parser.h"

#include <charconv>
#include <limits>

namespace aoe {
namespace {

// Limit of nesting: each level takes some hundred bytes of the stack. Printed texts stay below
// kPrintedNesting.
constexpr int kDeepestText = 4 * kPrintedNesting;
// Limit of the height of an expression: with temporaries, a short text can define a high one, and
// traversals recurse.
constexpr int kHighestExpr = 4096;
// Limit of the nodes of all indexes of a workload, counted as trees: interval_of visits a shared
// node once per use, which is exponential in the length of a text with temporaries.
constexpr int64_t kIndexNodes = int64_t{1} << 22;

// One level of nesting, while it exists.
class Deeper {
 public:
  Deeper(int& nesting, const Token& at) : nesting_(nesting) {
    require(nesting_ < kDeepestText, "{}: more than {} levels of nesting", at.place(),
            kDeepestText);
    ++nesting_;
  }
  ~Deeper() { --nesting_; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;

 private:
  int& nesting_;
};

int64_t integer_of(const Token& at, std::string_view digits) {
  int64_t value = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  require(error == std::errc() && stop == digits.data() + digits.size(),
          "{}: '{}' is no integer of 64 bits", at.place(), digits);
  return value;
}

}  // namespace

Token TokenStream::ahead(int count) const {
  Lexer copy = lexer_;
  Token token = current_;
  for (int i = 0; i < count && token.kind != Token::Kind::end; ++i) token = copy.next();
  return token;
}

void TokenStream::fail_expected(std::string_view what) const {
  fail("{}: {} is expected, not {}", current_.place(), what, current_.describe());
}

Token TokenStream::expect(Token::Kind kind, std::string_view what) {
  if (current_.kind != kind) fail_expected(what);
  const Token token = current_;
  advance();
  return token;
}

void TokenStream::expect(std::string_view symbol) {
  if (!current_.is(symbol)) fail_expected(fmt::format("'{}'", symbol));
  advance();
}

int64_t TokenStream::integer(std::string_view what) {
  const Token token = expect(Token::Kind::number, what);
  return integer_of(token, token.text);
}

int64_t TokenStream::parse_index(Token::Kind kind, std::string_view what) {
  const Token token = expect(kind, what);
  const int64_t value = integer_of(token, token.text.substr(1));
  require(value <= std::numeric_limits<int>::max(), "{}: '{}' is too large a number", token.place(),
          token.text);
  return value;
}

bool TokenStream::at_number() const {
  return current_.is("-") || current_.kind == Token::Kind::number ||
         (current_.kind == Token::Kind::name && (current_.text == "inf" || current_.text == "nan"));
}

NumberText TokenStream::number() {
  const bool negative = current_.is("-");
  if (negative) advance();
  if (current_.is("-") || !at_number()) fail_expected("a number");
  const NumberText number{negative, current_.text};
  advance();
  return number;
}

std::vector<Expr> ExprParser::list(const std::vector<Context>& contexts) {
  std::vector<Expr> exprs;
  temporaries_.clear();
  for (;;) {
    while (tokens_.current().kind == Token::Kind::temporary && tokens_.ahead(1).is("=")) {
      define();
      tokens_.expect(";");
    }
    exprs.push_back(
        expression(exprs.size() < contexts.size() ? contexts[exprs.size()] : Context()));
    if (!tokens_.current().is(";")) return exprs;
    tokens_.advance();
  }
}

void ExprParser::define() {
  const Token at = tokens_.current();
  const int64_t id = tokens_.parse_index(Token::Kind::temporary, "a temporary");
  tokens_.expect("=");
  const bool is_new = temporaries_.try_emplace(id, expression(std::nullopt)).second;
  require(is_new, "{}: {} is defined twice", at.place(), at.text);
}

Expr ExprParser::expression(Context context) {
  return resolve_number(infix_form(context), context);
}

// There is no precedence: one operator, and operands that are infix forms have parentheses.
ExprParser::Parsed ExprParser::infix_form(Context context) {
  const Token at = tokens_.current();
  const Deeper deeper(nesting_, at);
  Parsed a = operand(context);
  const auto op = tokens_.current().kind == Token::Kind::symbol
                      ? infix_named(tokens_.current().text)
                      : std::nullopt;
  if (!op) return a;
  tokens_.advance();
  if (gives_bool(*op)) context = std::nullopt;
  Parsed b = operand(a.expr ? Context(a.expr.dtype()) : context);
  finish_pair(a, b, context);
  const Token& next = tokens_.current();
  if (next.kind == Token::Kind::symbol && infix_named(next.text)) {
    fail("{}: parentheses are needed before '{}'", next.place(), next.text);
  }
  const Expr result = with_error_location(at, [&] { return binary(*op, a.expr, b.expr); });
  return {at, intern(at, result)};
}

ExprParser::Parsed ExprParser::operand(Context context) {
  const Token at = tokens_.current();
  const Deeper deeper(nesting_, at);
  if (tokens_.at_number()) return number();
  switch (at.kind) {
    case Token::Kind::value: return {at, load()};
    case Token::Kind::arg: return {at, argument()};
    case Token::Kind::name: return named(context);
    case Token::Kind::temporary: {
      tokens_.advance();
      const auto found = temporaries_.find(integer_of(at, at.text.substr(1)));
      require(found != temporaries_.end(), "{}: {} is not defined in this list", at.place(),
              at.text);
      return {at, found->second};
    }
    default: break;
  }
  if (!at.is("(")) tokens_.fail_expected("an expression");
  tokens_.advance();
  Parsed inner = infix_form(context);
  tokens_.expect(")");
  return inner;
}

ExprParser::Parsed ExprParser::number() {
  const Token at = tokens_.current();
  const NumberText number = tokens_.number();
  if (!tokens_.current().is(":")) return {at, {}, number};
  tokens_.advance();
  const Token type = tokens_.expect(Token::Kind::name, "an element type");
  const auto dtype = brief_dtype(type.text);
  require(dtype.has_value(), "{}: '{}' is no element type", type.place(), type.text);
  return {at, resolve_number({at, {}, number}, dtype)};
}

// Parses an operand that begins with a name: a truth value, a cast, a function or an axis.
ExprParser::Parsed ExprParser::named(Context context) {
  const Token at = tokens_.expect(Token::Kind::name, "a name");
  if (at.text == "true" || at.text == "false") {
    return {at, intern(at, Expr::integer(DType::boolean, at.text == "true" ? 1 : 0))};
  }
  if (!tokens_.current().is("(")) return {at, intern(at, axis(at))};
  if (const auto dtype = brief_dtype(at.text)) {
    tokens_.expect("(");
    const Expr inner = expression(std::nullopt);
    tokens_.expect(")");
    return {at, intern(at, cast(*dtype, inner))};
  }
  const auto op = function_named(at.text);
  require(op.has_value(), "{}: no function is called '{}'", at.place(), at.text);
  return {at, intern(at, function(at, *op, context))};
}

Expr ExprParser::function(const Token& at, ExprOp op, Context context) {
  tokens_.expect("(");
  if (gives_bool(op)) context = std::nullopt;
  if (operand_count(op) == 1) {
    const Expr a = expression(op == ExprOp::logical_not ? Context(DType::boolean) : context);
    tokens_.expect(")");
    return unary(op, a);
  }
  Expr condition;
  if (op == ExprOp::select) {
    condition = expression(DType::boolean);
    require(condition.dtype() == DType::boolean, "{}: the condition of select is {}, not bool",
            at.place(), name(condition.dtype()));
    tokens_.expect(",");
  }
  Parsed a = infix_form(context);
  tokens_.expect(",");
  Parsed b = infix_form(a.expr ? Context(a.expr.dtype()) : context);
  finish_pair(a, b, context);
  tokens_.expect(")");
  return with_error_location(at, [&] {
    return condition ? select(condition, a.expr, b.expr) : binary(op, a.expr, b.expr);
  });
}

Expr ExprParser::load() {
  const Token at = tokens_.current();
  const int64_t id = tokens_.parse_index(Token::Kind::value, "a value");
  require(loads, "{}: a reduction combines without loading", at.place());
  const TensorType type = values_(at, id);
  tokens_.expect("[");
  std::vector<Expr> index;
  while (!tokens_.current().is("]")) {
    if (!index.empty()) tokens_.expect(",");
    if (index.size() == type.shape.size()) tokens_.fail_expected("']'");
    index.push_back(expression(DType::i64));
    index_nodes_ += table_[table_.add(index.back())].size;
    require(index_nodes_ <= kIndexNodes, "{}: the indexes have more than {} nodes", at.place(),
            kIndexNodes);
  }
  tokens_.expect("]");
  require(index.size() == type.shape.size(), "{}: an index of {} numbers into {}", at.place(),
          index.size(), to_string(type));
  Expr outside;
  if (tokens_.current().is("?")) {
    tokens_.advance();
    outside = resolve_number(operand(type.dtype), type.dtype);
  }
  return intern(at, with_error_location(
                        at, [&] { return Expr::load(id, type.dtype, std::move(index), outside); }));
}

Expr ExprParser::argument() {
  const Token at = tokens_.current();
  const int64_t id = tokens_.parse_index(Token::Kind::arg, "an argument");
  require(id < static_cast<int64_t>(args.size()), "{}: {} names no element of the reduction",
          at.place(), at.text);
  return intern(at, Expr::arg(id, args[static_cast<size_t>(id)]));
}

Expr ExprParser::axis(const Token& at) const {
  const auto found = axis_named(at.text, out_rank_);
  if (found && *found < static_cast<int64_t>(axes)) return Expr::axis(*found);
  fail("{}: there is no axis '{}' here", at.place(), at.text);
}

Expr ExprParser::resolve_number(const Parsed& parsed, Context context) {
  if (parsed.expr) return parsed.expr;
  const std::string_view digits = parsed.number.magnitude;
  require(context.has_value(), "{}: the type of {} is ambiguous: write {}:f32 or another type",
          parsed.at.place(), digits, digits);
  return intern(parsed.at, with_error_location(
                               parsed.at, [&] { return constant_from(parsed.number, *context); }));
}

// A number has the type of the other operand, or, beside another number, that of the context.
void ExprParser::finish_pair(Parsed& a, Parsed& b, Context context) {
  if (!a.expr) a.expr = resolve_number(a, b.expr ? Context(b.expr.dtype()) : context);
  if (!b.expr) b.expr = resolve_number(b, a.expr.dtype());
}

// The node of this stage for all expressions of this structure.
Expr ExprParser::intern(const Token& at, const Expr& expr) {
  const ExprTable::Entry& entry = table_[table_.add(expr)];
  require(entry.height <= kHighestExpr, "{}: an expression of more than {} levels", at.place(),
          kHighestExpr);
  return entry.expr;
}

}  // namespace aoe
