#include "expr/text.h"

#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/hash.h"

namespace aoe {
namespace {

struct Infix {
  ExprOp op;
  std::string_view symbol;
};
constexpr std::array kInfix{
    Infix{ExprOp::add, "+"},     Infix{ExprOp::sub, "-"},     Infix{ExprOp::mul, "*"},
    Infix{ExprOp::div, "/"},     Infix{ExprOp::eq, "=="},     Infix{ExprOp::lt, "<"},
    Infix{ExprOp::le, "<="},     Infix{ExprOp::bit_and, "&"}, Infix{ExprOp::bit_or, "|"},
    Infix{ExprOp::bit_xor, "^"},
};

constexpr std::string_view kOutAxes = "abcdefgh";
constexpr std::string_view kReducedAxes = "rstuvwxyz";

// A constant with more elements is represented by its hash.
constexpr int64_t kInlineElements = 16;

template <typename T>
T real_from(const NumberText& number) {
  T value = 0;
  if (number.magnitude == "inf") value = std::numeric_limits<T>::infinity();
  else if (number.magnitude == "nan") value = std::numeric_limits<T>::quiet_NaN();
  else {
    const char* begin = number.magnitude.data();
    const char* end = begin + number.magnitude.size();
    const auto [stop, error] = std::from_chars(begin, end, value);
    require(error == std::errc() && stop == end, "{} is out of range", number.magnitude);
  }
  return number.negative ? -value : value;
}

// The integer as expressions keep it: uint64 as the int64 with the same bits.
int64_t integer_from(const NumberText& number, DType dtype) {
  uint64_t magnitude = 0;
  const char* begin = number.magnitude.data();
  const char* end = begin + number.magnitude.size();
  const auto [stop, error] = std::from_chars(begin, end, magnitude);
  uint64_t limit = (uint64_t{1} << 63) - (number.negative ? 0 : 1);
  if (dtype == DType::u64) limit = number.negative ? 0 : std::numeric_limits<uint64_t>::max();
  require(error == std::errc() && stop == end && magnitude <= limit, "{}{} does not fit into {}",
          number.negative ? "-" : "", number.magnitude, name(dtype));
  return static_cast<int64_t>(number.negative ? 0 - magnitude : magnitude);
}

NumberText split(std::string_view text) {
  const bool negative = text.starts_with('-');
  return {negative, text.substr(negative ? 1 : 0)};
}

std::string element_text(const Tensor& tensor, int64_t at) {
  return dispatch(tensor.dtype(), [&](auto tag) -> std::string {
    using T = typename decltype(tag)::type;
    const T element = tensor.data<T>()[at];
    if constexpr (std::is_same_v<T, bool>) return element ? "true" : "false";
    else if constexpr (std::is_same_v<T, double> || std::is_integral_v<T>)
      return fmt::format("{}", element);
    else if (is_float(tensor.dtype())) return fmt::format("{}", static_cast<float>(element));
    else return fmt::format("{}", static_cast<int64_t>(element));
  });
}

}  // namespace

std::string axis_name(int64_t axis, size_t out_rank) {
  const auto i = static_cast<size_t>(axis);
  const bool reduced = i >= out_rank;
  const std::string_view names = reduced ? kReducedAxes : kOutAxes;
  const size_t which = reduced ? i - out_rank : i;
  if (which < names.size()) return std::string(1, names[which]);
  return fmt::format("{}{}", names.back(), which);
}

std::optional<int64_t> axis_named(std::string_view name, size_t out_rank) {
  for (const std::string_view names : {kOutAxes, kReducedAxes}) {
    size_t which = name.empty() ? std::string_view::npos : names.find(name[0]);
    if (which == std::string_view::npos) continue;
    if (name.size() > 1) std::from_chars(name.data() + 1, name.data() + name.size(), which);
    const bool reduced = names == kReducedAxes;
    if (which > kHighestRank || (!reduced && which >= out_rank)) return std::nullopt;
    const auto axis = static_cast<int64_t>(reduced ? out_rank + which : which);
    // An axis has only one valid spelling.
    return axis_name(axis, out_rank) == name ? std::optional(axis) : std::nullopt;
  }
  return std::nullopt;
}

std::string_view infix(ExprOp op) {
  for (const Infix& entry : kInfix) {
    if (entry.op == op) return entry.symbol;
  }
  return "";
}

std::optional<ExprOp> infix_named(std::string_view symbol) {
  for (const Infix& entry : kInfix) {
    if (entry.symbol == symbol) return entry.op;
  }
  return std::nullopt;
}

std::optional<ExprOp> function_named(std::string_view text) {
  for (auto i = static_cast<int>(ExprOp::neg); i <= static_cast<int>(ExprOp::select); ++i) {
    const auto op = static_cast<ExprOp>(i);
    if (name(op) == text && infix(op).empty()) return op;
  }
  return std::nullopt;
}

int operand_count(ExprOp op) {
  if (op == ExprOp::select) return 3;
  return op >= ExprOp::add ? 2 : 1;
}

std::optional<DType> brief_dtype(std::string_view brief) {
  const auto found = dtype_named(brief);
  const bool usable = found && info(*found).brief == brief && *found != DType::string;
  return usable ? found : std::nullopt;
}

std::optional<Reducer> reducer_named(std::string_view name, DType dtype) {
  if (name == "sum") return sum_of(dtype);
  if (name == "product") return product_of(dtype);
  if (name == "max") return max_of(dtype);
  if (name == "min") return min_of(dtype);
  if (name == "arg_max") return arg_max_of(dtype, false);
  if (name == "arg_max_last") return arg_max_of(dtype, true);
  if (name == "arg_min") return arg_min_of(dtype, false);
  if (name == "arg_min_last") return arg_min_of(dtype, true);
  if (name == "moments") return moments_of(dtype);
  return std::nullopt;
}

Expr constant_from(const NumberText& number, DType dtype) {
  if (is_float(dtype)) return Expr::constant(dtype, real_from<double>(number));
  return Expr::integer(dtype, integer_from(number, dtype));
}

void set_element(Tensor& tensor, int64_t at, const NumberText& number) {
  dispatch(tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T& element = tensor.data<T>()[at];
    if constexpr (std::is_same_v<T, double>) element = real_from<double>(number);
    else if (is_float(tensor.dtype())) element = static_cast<T>(real_from<float>(number));
    else element = static_cast<T>(integer_from(number, tensor.dtype()));
  });
}

std::string number_text(const Expr::Node& constant) {
  if (is_float(constant.dtype)) return fmt::format("{}", constant.number);
  if (constant.dtype == DType::u64) return fmt::format("{}", static_cast<uint64_t>(constant.id));
  return fmt::format("{}", constant.id);
}

std::optional<std::string> elements_text(const Tensor& tensor) {
  if (tensor.count() > kInlineElements) return std::nullopt;
  Tensor copy(tensor.type());
  std::vector<std::string> texts;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    texts.push_back(element_text(tensor, i));
    if (tensor.dtype() == DType::boolean) copy.data<bool>()[i] = texts.back() == "true";
    else set_element(copy, i, split(texts.back()));
  }
  if (std::memcmp(copy.raw(), tensor.raw(), static_cast<size_t>(tensor.bytes())) != 0) {
    return std::nullopt;
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

uint64_t contents_hash(const Tensor& tensor) {
  const std::span<const std::byte> bytes(tensor.raw(), static_cast<size_t>(tensor.bytes()));
  return stable_hash(bytes, stable_hash(to_string(tensor.type())));
}

}  // namespace aoe
