#include <locale.h>
#include <wctype.h>

#include <algorithm>
#include <set>

#include "base/utf8.h"
#include "op/families.h"
#include "op/host_kernel.h"
#include "op/operands.h"
#include "regex/regex.h"

namespace aoe {
namespace {

constexpr std::string_view kWhitespace = " \t\n\v\f\r";

enum class Case { keep, lower, upper };

// Case conversion by a locale: the named one if the system has it in UTF-8, else C.UTF-8. Without
// either, only ASCII letters change.
class CaseTable {
 public:
  explicit CaseTable(const std::string& name) {
    for (const std::string& candidate : {name, name + ".UTF-8", std::string("C.UTF-8")}) {
      if (locale_ == nullptr && !candidate.empty() &&
          candidate.find("UTF-8") != std::string::npos) {
        locale_ = newlocale(LC_CTYPE_MASK, candidate.c_str(), nullptr);
      }
    }
  }
  CaseTable(const CaseTable&) = delete;
  CaseTable& operator=(const CaseTable&) = delete;
  ~CaseTable() {
    if (locale_ != nullptr) freelocale(locale_);
  }

  std::string changed(const std::string& text, Case to) const {
    if (to == Case::keep) return text;
    std::u32string characters = utf8_decoded(text);
    for (char32_t& c : characters) {
      const auto wide = static_cast<wint_t>(c);
      if (locale_ == nullptr) {
        if (c < 0x80)
          c = static_cast<char32_t>(to == Case::lower ? tolower(static_cast<int>(c))
                                                      : toupper(static_cast<int>(c)));
      } else {
        c = static_cast<char32_t>(to == Case::lower ? towlower_l(wide, locale_)
                                                    : towupper_l(wide, locale_));
      }
    }
    return utf8_encoded(characters);
  }

 private:
  locale_t locale_ = nullptr;
};

Case case_named(const std::string& name) {
  if (name == "NONE") return Case::keep;
  if (name == "LOWER") return Case::lower;
  if (name == "UPPER") return Case::upper;
  fail("case_change_action '{}' is not one of NONE, LOWER and UPPER", name);
}

const Tensor& strings_in(const HostCall& call, size_t input) {
  const Tensor& tensor = call.inputs[input].tensor();
  require(tensor.dtype() == DType::string, "{} where strings are expected",
          to_string(tensor.type()));
  return tensor;
}

ValueType some_strings() {
  ValueType type;
  type.dtype = DType::string;
  return type;
}

void string_normalizer(OpContext& op) {
  op.need(1);
  const Case action = case_named(op.text("case_change_action", "NONE"));
  const Case compared = op.flag("is_case_sensitive", false) ? Case::keep : Case::lower;
  const auto table = std::make_shared<const CaseTable>(op.text("locale", ""));
  std::set<std::string> stopwords;
  for (const std::string& word : op.texts("stopwords")) {
    stopwords.insert(table->changed(word, compared));
  }
  op.host({some_strings()}, [=](const HostCall& call) -> std::vector<Value> {
    const Tensor& x = strings_in(call, 0);
    require(x.rank() == 1 || (x.rank() == 2 && x.shape()[0] == 1),
            "{} where shape [C] or [1, C] is expected", to_string(x.type()));
    std::vector<std::string> kept;
    for (int64_t i = 0; i < x.count(); ++i) {
      const std::string& word = x.data<std::string>()[i];
      if (stopwords.contains(table->changed(word, compared))) continue;
      kept.push_back(table->changed(word, action));
    }
    if (kept.empty()) kept.emplace_back();
    Shape shape = x.shape();
    shape.back() = std::ssize(kept);
    return {Tensor::strings(std::move(shape), std::move(kept))};
  });
}

void string_concat(OpContext& op) {
  const Shape shape = broadcast(op.shape(0), op.shape(1));
  op.host({TensorType{DType::string, shape}}, [=](const HostCall& call) -> std::vector<Value> {
    const Tensor& x = strings_in(call, 0);
    const Tensor& y = strings_in(call, 1);
    Tensor result(DType::string, shape);
    if (result.count() == 0) return {result};
    const std::vector<int64_t> from_x = broadcast_positions(x.shape(), shape);
    const std::vector<int64_t> from_y = broadcast_positions(y.shape(), shape);
    for (size_t i = 0; i < from_x.size(); ++i) {
      result.data<std::string>()[i] =
          x.data<std::string>()[from_x[i]] + y.data<std::string>()[from_y[i]];
    }
    return {result};
  });
}

// Splits at `delimiter`, or at runs of whitespace if that is empty; at most `limit` splits, from
// the left.
std::vector<std::string> split_parts(std::string_view text, const std::string& delimiter,
                                     int64_t limit) {
  std::vector<std::string> parts;
  const bool blanks = delimiter.empty();
  while (true) {
    if (blanks) {
      const size_t start = text.find_first_not_of(kWhitespace);
      if (start == std::string_view::npos) return parts;
      text.remove_prefix(start);
    }
    const size_t end = blanks ? text.find_first_of(kWhitespace) : text.find(delimiter);
    if (end == std::string_view::npos || std::ssize(parts) >= limit) {
      parts.emplace_back(text);
      return parts;
    }
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end + (blanks ? 1 : delimiter.size()));
  }
}

void string_split(OpContext& op) {
  const std::string delimiter = op.text("delimiter", "");
  const int64_t given_limit = op.integer("maxsplit", -1);
  const int64_t limit = given_limit < 0 ? std::numeric_limits<int64_t>::max() : given_limit;
  const TensorType counts_type{DType::i64, op.shape(0)};
  op.host({some_strings(), counts_type}, [=](const HostCall& call) -> std::vector<Value> {
    const Tensor& x = strings_in(call, 0);
    Tensor counts(counts_type);
    std::vector<std::vector<std::string>> all;
    int64_t most = 0;
    for (int64_t i = 0; i < x.count(); ++i) {
      all.push_back(split_parts(x.data<std::string>()[i], delimiter, limit));
      counts.data<int64_t>()[i] = std::ssize(all.back());
      most = std::max(most, counts.data<int64_t>()[i]);
    }
    Shape shape = x.shape();
    shape.push_back(most);
    Tensor parts(DType::string, std::move(shape));
    for (size_t i = 0; i < all.size(); ++i) {
      std::move(all[i].begin(), all[i].end(),
                parts.data<std::string>() + static_cast<int64_t>(i) * most);
    }
    return {parts, counts};
  });
}

void regex_full_match(OpContext& op) {
  const auto regex = std::make_shared<const Regex>(op.text("pattern"));
  const TensorType type{DType::boolean, op.shape(0)};
  op.host({type}, [=](const HostCall& call) -> std::vector<Value> {
    const Tensor& x = strings_in(call, 0);
    Tensor result(type);
    for (int64_t i = 0; i < x.count(); ++i) {
      result.data<bool>()[i] = regex->matches(x.data<std::string>()[i]);
    }
    return {result};
  });
}

}  // namespace

const OpTable& string_operators() {
  static const OpTable table{
      {"RegexFullMatch", 20, regex_full_match},
      {"StringConcat", 20, string_concat},
      {"StringNormalizer", 10, string_normalizer},
      {"StringSplit", 20, string_split},
  };
  return table;
}

}  // namespace aoe
