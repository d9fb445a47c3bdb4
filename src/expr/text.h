#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "expr/workload.h"

namespace aoe {

// The words of a workload's text, which its printer and its parser share.

// Of all axes of a stage.
inline constexpr size_t kHighestRank = 64;

// Output axes are named from the front of one list of letters, reduced ones from another.
std::string axis_name(int64_t axis, size_t out_rank);
std::optional<int64_t> axis_named(std::string_view name, size_t out_rank);

// What stands between the operands; empty for an operation that is written as a function.
std::string_view infix(ExprOp op);
std::optional<ExprOp> infix_named(std::string_view symbol);

// Operations written as functions, and how many operands they take.
std::optional<ExprOp> function_named(std::string_view name);
int operand_count(ExprOp op);

std::optional<DType> brief_dtype(std::string_view brief);

// The reducers that need no more than a name; nothing for another name.
std::optional<Reducer> reducer_named(std::string_view name, DType dtype);

// A number, as an expression's constant or a tensor's element is written: `-` and then digits,
// `inf` or `nan`. Both fail when the number does not fit the type.
struct NumberText {
  bool negative = false;
  std::string_view magnitude;
};
Expr constant_from(const NumberText& number, DType dtype);
void set_element(Tensor& tensor, int64_t at, const NumberText& number);

std::string number_text(const Expr::Node& constant);
// The elements, separated by commas. Nothing if they are too many or would not read back bit by
// bit, as a NaN with a message.
std::optional<std::string> elements_text(const Tensor& tensor);

// Of a tensor's type and contents; stands for them in the text of a workload.
uint64_t contents_hash(const Tensor& tensor);

// Where nesting reaches a multiple of this, the printer goes on in a temporary, so that the
// parser's nesting stays small.
inline constexpr int kPrintedNesting = 64;

}  // namespace aoe
