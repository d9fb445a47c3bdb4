#include "expr/parse.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "expr/expr_parser.h"
#include "expr/text.h"

// A recursive-descent parser of the grammar in docs/workload.md; expr_parser.cpp has the
// expressions. In reading order:
//
//   statement               one line: an input, view, constant, stage or the outputs
//   type, declare           declarations, with limits on sizes
//   constant                contents from the text, or by their hash
//   stage                   results and expressions; reduction and custom_reducer
//   finish                  views, numbering of values, verify()
//
// Only values in ready_ can be read: inputs, constants, results of earlier lines, views of these.

namespace aoe {
namespace {

// Far longer than any printed workload; bounds the memory that parsing takes.
constexpr size_t kLongestText = size_t{1} << 20;
// Limit of the bytes of a value and of the points of a stage: far beyond any machine, and small
// enough that sums and small multiples fit into 64 bits.
constexpr int64_t kTooLarge = int64_t{1} << 56;

// Whether a shape with `unit` per element exceeds the limit. An extent of 0 counts as 1, as in
// row_major_strides.
bool is_too_large(const Shape& extents, int64_t unit) {
  int64_t total = unit;
  for (const int64_t extent : extents) {
    if (__builtin_mul_overflow(total, std::max<int64_t>(extent, 1), &total)) return true;
  }
  return total > kTooLarge;
}

class Parser {
 public:
  Parser(std::string_view text, const ContentsLookup& lookup) : tokens_(text), lookup_(lookup) {}

  Workload parse() {
    while (statement()) {
    }
    while (tokens_.current().kind == Token::Kind::newline) tokens_.advance();
    if (tokens_.current().kind != Token::Kind::end) tokens_.fail_expected("the end of the text");
    return finish();
  }

 private:
  using Kind = Token::Kind;

  // Parses one line; false after the last, which lists the outputs.
  bool statement() {
    const Token first = tokens_.current();
    const auto begins = [&](std::string_view word) {
      const bool found = first.kind == Kind::name && first.text == word;
      if (found) tokens_.advance();
      return found;
    };
    if (first.kind == Kind::newline) {
      tokens_.advance();
      return true;
    }
    const bool is_last = begins("out");
    if (is_last) outputs();
    else if (begins("in")) input(false);
    else if (begins("weight")) input(true);
    else if (begins("view")) view();
    else if (begins("constant")) constant();
    else if (first.kind == Kind::value) stage();
    else tokens_.fail_expected("'in', 'weight', 'view', 'constant', 'out' or the value of a stage");
    if (tokens_.current().kind != Kind::end) tokens_.expect(Kind::newline, "the end of the line");
    return !is_last;
  }

  TensorType type() {
    const Token name = tokens_.expect(Kind::name, "an element type");
    const auto dtype = brief_dtype(name.text);
    if (!dtype) fail("{}: '{}' is no element type", name.place(), name.text);
    TensorType type{*dtype, {}};
    tokens_.expect("[");
    while (!tokens_.current().is("]")) {
      if (!type.shape.empty()) tokens_.expect(",");
      type.shape.push_back(tokens_.integer("an extent"));
      check_rank(type.shape.size(), name);
    }
    tokens_.expect("]");
    require(!is_too_large(type.shape, info(type.dtype).bytes), "{}: {} is too large", name.place(),
            to_string(type));
    return type;
  }

  static void check_rank(size_t rank, const Token& at) {
    require(rank <= kHighestRank, "{}: more than {} axes", at.place(), kHighestRank);
  }

  void declare(const Token& at, int64_t id, const Workload::Value& value) {
    const bool is_new = values_.try_emplace(id, value).second;
    require(is_new, "{}: %{} is declared twice", at.place(), id);
  }

  void input(bool weight) {
    const Token at = tokens_.current();
    const int64_t id = tokens_.parse_index(Kind::value, "a value");
    declare(at, id, {.type = type(), .view_of = -1, .constant = {}, .weight = weight});
    workload_.inputs.push_back(static_cast<int>(id));
    ready_.insert(id);
  }

  void view() {
    const Token at = tokens_.current();
    const int64_t id = tokens_.parse_index(Kind::value, "a value");
    Workload::Value value{.type = type(), .view_of = -1, .constant = {}};
    tokens_.expect("=");
    const int64_t source = tokens_.parse_index(Kind::value, "a value");
    // Excludes cycles.
    require(source < id, "{}: %{} is a view of %{}, which does not come before it", at.place(), id,
            source);
    value.view_of = static_cast<int>(source);
    declare(at, id, value);
    views_.emplace_back(at, id);
    // The value that holds the elements, resolved now: chains of views may be long.
    const auto chain = storage_.find(source);
    storage_[id] = chain == storage_.end() ? source : chain->second;
  }

  void constant() {
    const Token at = tokens_.current();
    const int64_t id = tokens_.parse_index(Kind::value, "a value");
    Workload::Value value{.type = type(), .view_of = -1, .constant = {}};
    if (value.type.count() == 0) {
      value.constant = Tensor(value.type);
    } else {
      tokens_.expect("=");
      value.constant = tokens_.current().kind == Kind::hash ? named_contents(value.type)
                                                            : listed_contents(value.type);
    }
    declare(at, id, value);
    ready_.insert(id);
  }

  Tensor listed_contents(const TensorType& type) {
    const Token first = tokens_.current();
    std::vector<std::pair<Token, NumberText>> numbers;
    do {
      if (!numbers.empty()) tokens_.advance();
      const Token at = tokens_.current();
      numbers.emplace_back(at, element(type.dtype));
    } while (tokens_.current().is(","));
    require(static_cast<int64_t>(numbers.size()) == type.count(), "{}: {} elements for {}",
            first.place(), numbers.size(), to_string(type));
    Tensor contents(type);
    for (size_t i = 0; i < numbers.size(); ++i) {
      with_error_location(numbers[i].first, [&] {
        set_element(contents, static_cast<int64_t>(i), numbers[i].second);
        return 0;
      });
    }
    return contents;
  }

  NumberText element(DType dtype) {
    const Token& token = tokens_.current();
    const bool yes = token.kind == Kind::name && token.text == "true";
    if (dtype == DType::boolean && (yes || token.text == "false")) {
      tokens_.advance();
      return {false, yes ? "1" : "0"};
    }
    return tokens_.number();
  }

  Tensor named_contents(const TensorType& type) {
    const Token at = tokens_.current();
    tokens_.advance();
    const std::string_view digits = at.text.substr(1);
    uint64_t hash = 0;
    const auto [stop, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), hash, 16);
    require(digits.size() == 16 && error == std::errc() && stop == digits.data() + digits.size(),
            "{}: a hash has 16 hexadecimal digits", at.place());
    require(static_cast<bool>(lookup_),
            "{}: the text has only the hash of this constant, and its contents are not at hand",
            at.place());
    Tensor contents = with_error_location(at, [&] { return lookup_(hash); });
    require(!contents.empty() && contents.type() == type && contents_hash(contents) == hash,
            "{}: the contents found for {} have another type or hash", at.place(), at.text);
    return contents;
  }

  // The type of a value; fails if it is not declared or not computed yet.
  const TensorType& readable(const Token& at, int64_t id) const {
    const auto found = values_.find(id);
    require(found != values_.end(), "{}: %{} is not declared", at.place(), id);
    const auto chain = storage_.find(id);
    require(ready_.contains(chain == storage_.end() ? id : chain->second),
            "{}: %{} is read before it is computed", at.place(), id);
    return found->second.type;
  }

  void stage() {
    Stage stage;
    const Token first = tokens_.current();
    std::vector<DType> dtypes;
    do {
      if (!dtypes.empty()) tokens_.advance();
      const Token at = tokens_.current();
      const int64_t id = tokens_.parse_index(Kind::value, "a value");
      TensorType result = type();
      if (dtypes.empty()) stage.axes = result.shape;
      require(result.shape == stage.axes, "{}: the results of one stage have one shape",
              at.place());
      dtypes.push_back(result.dtype);
      stage.outputs.push_back(static_cast<int>(id));
      declare(at, id, {.type = std::move(result), .view_of = -1, .constant = {}});
    } while (tokens_.current().is(","));
    tokens_.expect("=");
    ExprParser exprs(
        tokens_, stage.axes.size(),
        [this](const Token& at, int64_t id) { return readable(at, id); }, index_nodes_);
    if (at_reduction()) reduction(stage, exprs, dtypes[0]);
    if (stage.reducer && !tokens_.current().is("->")) {
      require(stage.reducer->size() == 1, "{}: the reduction gives {} values: '->' is expected",
              tokens_.current().place(), stage.reducer->size());
      stage.results = {Expr::arg(0, stage.reducer->identity[0].dtype())};
    } else {
      if (stage.reducer) tokens_.expect("->");
      exprs.axes = stage.axes.size();
      exprs.args = identity_types(stage);
      stage.results = exprs.list({dtypes.begin(), dtypes.end()});
    }
    require(stage.results.size() == dtypes.size(), "{}: {} results for {} values", first.place(),
            stage.results.size(), dtypes.size());
    for (size_t i = 0; i < dtypes.size(); ++i) {
      require(stage.results[i].dtype() == dtypes[i], "{}: %{} is {}, its expression {}",
              first.place(), stage.outputs[i], name(dtypes[i]), name(stage.results[i].dtype()));
    }
    ready_.insert(stage.outputs.begin(), stage.outputs.end());
    workload_.stages.push_back(std::move(stage));
  }

  static std::vector<DType> identity_types(const Stage& stage) {
    std::vector<DType> types;
    if (!stage.reducer) return types;
    for (const Expr& identity : stage.reducer->identity) types.push_back(identity.dtype());
    return types;
  }

  // `max(r:3)` begins a reduction, `max(a, 3)` and `f32(3:i64)` an expression.
  bool at_reduction() const {
    if (tokens_.current().kind != Kind::name) return false;
    const Token after = tokens_.ahead(1);
    if (after.is("{")) return true;
    if (!after.is("(")) return false;
    const Token inside = tokens_.ahead(2);
    const bool is_number =
        inside.kind != Kind::name || inside.text == "inf" || inside.text == "nan";
    return inside.is(")") || (!is_number && tokens_.ahead(3).is(":"));
  }

  void reduction(Stage& stage, ExprParser& exprs, DType output) {
    const Token name = tokens_.expect(Kind::name, "a reduction");
    std::vector<Context> contexts;
    if (tokens_.current().is("{")) {
      stage.reducer = custom_reducer(name, exprs);
      for (const Expr& identity : stage.reducer->identity) contexts.emplace_back(identity.dtype());
    } else {
      const auto f32 = reducer_named(name.text, DType::f32);
      require(f32.has_value(), "{}: no reduction is called '{}'", name.place(), name.text);
      for (const Expr& identity : f32->identity) {
        contexts.emplace_back(identity.dtype() == DType::f32 ? output : identity.dtype());
      }
    }
    over(stage);
    exprs.axes = stage.axes.size() + stage.reduce_axes.size();
    stage.elements = exprs.list(contexts);
    require(stage.elements.size() == contexts.size(), "{}: {} combines {} values, {} are given",
            name.place(), name.text, contexts.size(), stage.elements.size());
    if (!stage.reducer) stage.reducer = reducer_named(name.text, stage.elements[0].dtype());
    for (size_t i = 0; i < contexts.size(); ++i) {
      const DType wanted = stage.reducer->identity[i].dtype();
      const DType found = stage.elements[i].dtype();
      require(wanted == found, "{}: {} combines {} here, {} is given", name.place(), name.text,
              aoe::name(wanted), aoe::name(found));
    }
  }

  // Parses {identity -> combination} of a reduction that is not built in.
  Reducer custom_reducer(const Token& name, ExprParser& exprs) {
    Reducer reducer{.name = std::string(name.text), .identity = {}, .combine = {}};
    tokens_.expect("{");
    exprs.loads = false;
    exprs.axes = 0;
    reducer.identity = exprs.list({});
    std::vector<Context> contexts;
    for (const Expr& identity : reducer.identity) {
      require(identity.is_constant(), "{}: an identity is a number", name.place());
      exprs.args.push_back(identity.dtype());
      contexts.emplace_back(identity.dtype());
    }
    const std::vector<DType> left = exprs.args;
    exprs.args.insert(exprs.args.end(), left.begin(), left.end());
    tokens_.expect("->");
    reducer.combine = exprs.list(contexts);
    tokens_.expect("}");
    require(reducer.combine.size() == left.size(), "{}: {} combinations for {} identities",
            name.place(), reducer.combine.size(), left.size());
    for (size_t i = 0; i < left.size(); ++i) {
      require(reducer.combine[i].dtype() == left[i],
              "{}: a combination is {} where its identity is {}", name.place(),
              aoe::name(reducer.combine[i].dtype()), aoe::name(left[i]));
    }
    exprs.loads = true;
    exprs.args.clear();
    return reducer;
  }

  void over(Stage& stage) {
    const Token first = tokens_.current();
    tokens_.expect("(");
    while (!tokens_.current().is(")")) {
      if (!stage.reduce_axes.empty()) tokens_.expect(",");
      const size_t axis = stage.axes.size() + stage.reduce_axes.size();
      const Token at = tokens_.expect(Kind::name, "an axis");
      check_rank(axis + 1, at);
      const std::string expected = axis_name(static_cast<int64_t>(axis), stage.axes.size());
      require(at.text == expected, "{}: this axis is called '{}', not '{}'", at.place(), expected,
              at.text);
      tokens_.expect(":");
      stage.reduce_axes.push_back(tokens_.integer("an extent"));
    }
    tokens_.expect(")");
    require(!is_too_large(stage.extents(), 1), "{}: a stage over {} is too large", first.place(),
            to_string(stage.extents()));
  }

  void outputs() {
    while (tokens_.current().kind == Kind::value) {
      const Token at = tokens_.current();
      const int64_t id = tokens_.parse_index(Kind::value, "a value");
      readable(at, id);
      workload_.outputs.push_back(static_cast<int>(id));
      if (!tokens_.current().is(",")) break;
      tokens_.advance();
    }
  }

  Workload finish() {
    for (const auto& [at, id] : views_) {
      const Workload::Value& view = values_.at(id);
      const auto source = values_.find(view.view_of);
      require(source != values_.end(), "{}: a view of %{}, which is not declared", at.place(),
              view.view_of);
      // If the source was declared as a view later, view() has recorded the wrong storage.
      const auto chain = storage_.find(view.view_of);
      require(storage_.at(id) == (chain == storage_.end() ? view.view_of : chain->second),
              "{}: a view of %{}, which is itself a view and must come first", at.place(),
              view.view_of);
      const TensorType& type = source->second.type;
      require(type.dtype == view.type.dtype && type.count() == view.type.count(),
              "{}: {} cannot be a view of {}", at.place(), to_string(view.type), to_string(type));
    }
    for (auto& [id, value] : values_) {
      require(id == static_cast<int64_t>(workload_.values.size()),
              "the text has a value %{} but no %{}", id, workload_.values.size());
      workload_.values.push_back(std::move(value));
    }
    verify(workload_);
    return std::move(workload_);
  }

  TokenStream tokens_;
  const ContentsLookup& lookup_;
  Workload workload_;
  std::map<int64_t, Workload::Value> values_;
  std::map<int64_t, int64_t> storage_;  // for each view, the value that holds its elements
  std::set<int64_t> ready_;             // inputs, constants and results of earlier stages
  std::vector<std::pair<Token, int64_t>> views_;
  int64_t index_nodes_ = 0;
};

}  // namespace

Workload parse_workload(std::string_view text, const ContentsLookup& lookup) {
  require(text.size() <= kLongestText, "a workload's text has {} bytes, more than {}", text.size(),
          kLongestText);
  return Parser(text, lookup).parse();
}

}  // namespace aoe
