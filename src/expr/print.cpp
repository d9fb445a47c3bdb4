#include <fmt/ranges.h>

#include "expr/workload.h"

namespace aoe {
namespace {

// Output axes are named from the front of one list, reduced ones from the front of the other.
std::string axis_name(int64_t axis, size_t out_rank) {
  constexpr std::string_view kOut = "abcdefgh";
  constexpr std::string_view kReduced = "rstuvwxyz";
  const auto i = static_cast<size_t>(axis);
  const bool reduced = i >= out_rank;
  const std::string_view names = reduced ? kReduced : kOut;
  const size_t which = reduced ? i - out_rank : i;
  if (which < names.size()) return std::string(1, names[which]);
  return fmt::format("{}{}", names.back(), which);
}

std::string_view infix(ExprOp op) {
  switch (op) {
    case ExprOp::add: return "+";
    case ExprOp::sub: return "-";
    case ExprOp::mul: return "*";
    case ExprOp::div: return "/";
    case ExprOp::eq: return "==";
    case ExprOp::lt: return "<";
    case ExprOp::le: return "<=";
    case ExprOp::bit_and: return "&";
    case ExprOp::bit_or: return "|";
    case ExprOp::bit_xor: return "^";
    default: return "";
  }
}

class Printer {
 public:
  explicit Printer(size_t out_rank) : out_rank_(out_rank) {}

  // `nested`: inside another infix form, where this one needs parentheses.
  std::string print(const Expr& expr, bool nested = false) const {
    const Expr::Node& node = *expr;
    switch (node.op) {
      case ExprOp::constant: return number(node);
      case ExprOp::axis: return axis_name(node.id, out_rank_);
      case ExprOp::arg: return fmt::format("${}", node.id);
      case ExprOp::cast:
        return fmt::format("{}({})", info(node.dtype).brief, print(node.operands[0]));
      case ExprOp::load: return load(node);
      default: break;
    }
    if (const std::string_view symbol = infix(node.op); !symbol.empty()) {
      const std::string text = fmt::format("{} {} {}", print(node.operands[0], true), symbol,
                                           print(node.operands[1], true));
      return nested ? fmt::format("({})", text) : text;
    }
    std::vector<std::string> operands;
    for (const Expr& operand : node.operands) operands.push_back(print(operand));
    return fmt::format("{}({})", name(node.op), fmt::join(operands, ", "));
  }

 private:
  static std::string number(const Expr::Node& node) {
    if (is_float(node.dtype)) return fmt::format("{}", node.number);
    if (node.dtype == DType::u64) return fmt::format("{}", static_cast<uint64_t>(node.id));
    return fmt::format("{}", node.id);
  }

  std::string load(const Expr::Node& node) const {
    std::vector<std::string> index;
    for (int i = 0; i < node.rank; ++i) {
      index.push_back(print(node.operands[static_cast<size_t>(i)]));
    }
    std::string text = fmt::format("%{}[{}]", node.id, fmt::join(index, ", "));
    const bool has_outside = node.operands.size() > static_cast<size_t>(node.rank);
    return has_outside ? fmt::format("{}?{}", text, print(node.operands.back(), true)) : text;
  }

  size_t out_rank_;
};

std::string type_text(const TensorType& type) {
  return fmt::format("{}[{}]", info(type.dtype).brief, fmt::join(type.shape, ","));
}

std::string stage_text(const Workload& workload, const Stage& stage) {
  const Printer printer(stage.axes.size());
  const auto list = [&](const std::vector<Expr>& exprs) {
    std::vector<std::string> texts;
    for (const Expr& expr : exprs) texts.push_back(printer.print(expr));
    return fmt::format("{}", fmt::join(texts, "; "));
  };
  std::vector<std::string> outputs;
  for (const int id : stage.outputs) {
    outputs.push_back(
        fmt::format("%{} {}", id, type_text(workload.values[static_cast<size_t>(id)].type)));
  }
  std::string text = fmt::format("{} = ", fmt::join(outputs, ", "));
  if (!stage.reducer) return text + list(stage.results);
  std::vector<std::string> over;
  for (size_t i = 0; i < stage.reduce_axes.size(); ++i) {
    const auto axis = static_cast<int64_t>(stage.axes.size() + i);
    over.push_back(fmt::format("{}:{}", axis_name(axis, stage.axes.size()), stage.reduce_axes[i]));
  }
  text += fmt::format("{}({}) {}", stage.reducer->name, fmt::join(over, ","), list(stage.elements));
  // The plain case, where the reduced value itself is the result, says no more.
  const bool plain = stage.results.size() == 1 && stage.results[0]->op == ExprOp::arg &&
                     stage.reducer->size() == 1;
  return plain ? text : text + " -> " + list(stage.results);
}

}  // namespace

std::string to_string(const Workload& workload) {
  std::string text;
  for (const int id : workload.inputs) {
    text +=
        fmt::format("in %{} {}\n", id, type_text(workload.values[static_cast<size_t>(id)].type));
  }
  // Views and constants come first, whichever stage makes or uses them.
  for (size_t i = 0; i < workload.values.size(); ++i) {
    const Workload::Value& value = workload.values[i];
    if (value.view_of >= 0) {
      text += fmt::format("view %{} {} = %{}\n", i, type_text(value.type), value.view_of);
    } else if (!value.constant.empty()) {
      text += fmt::format("constant %{} {}\n", i, type_text(value.type));
    }
  }
  for (const Stage& stage : workload.stages) text += stage_text(workload, stage) + "\n";
  std::vector<std::string> outputs;
  for (const int id : workload.outputs) outputs.push_back(fmt::format("%{}", id));
  return text + fmt::format("out {}\n", fmt::join(outputs, ", "));
}

}  // namespace aoe
