#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "expr/workload.h"

namespace aoe {

// The vocabulary of a workload's text, shared by printer and parser.

// Maximum number of axes of a stage, reduced ones included, and of a value.
inline constexpr size_t kHighestRank = 64;

// Output axes are a, b, c, ..., reduced axes r, s, t, ...
std::string axis_name(int64_t axis, size_t out_rank);
std::optional<int64_t> axis_named(std::string_view name, size_t out_rank);

// The infix symbol of an operation; empty if it is written as a function.
std::string_view infix(ExprOp op);
std::optional<ExprOp> infix_named(std::string_view symbol);

// The operation that is written as a function of this name; the number of operands of one.
std::optional<ExprOp> function_named(std::string_view name);
int operand_count(ExprOp op);

std::optional<DType> brief_dtype(std::string_view brief);

// The built-in reducer of this name; none if there is none.
std::optional<Reducer> reducer_named(std::string_view name, DType dtype);

// The text of a constant of an expression or of an element of a tensor: an optional `-`, then
// digits, `inf` or `nan`. Both functions fail if the number does not fit the type.
struct NumberText {
  bool negative = false;
  std::string_view magnitude;
};
Expr constant_from(const NumberText& number, DType dtype);
void set_element(Tensor& tensor, int64_t at, const NumberText& number);

std::string number_text(const Expr::Node& constant);
// The elements, separated by commas. None if there are too many, or if they would not parse back to
// the same bits, such as a NaN with a payload.
std::optional<std::string> elements_text(const Tensor& tensor);

// Hash of a tensor's type and contents, which represents them in the text of a workload.
uint64_t contents_hash(const Tensor& tensor);

// The printer defines a temporary for each expression whose height is a multiple of this, so that
// the parser's recursion stays shallow.
inline constexpr int kPrintedNesting = 64;

}  // namespace aoe
