#include <fmt/ranges.h>

#include <algorithm>

#include "base/hash.h"
#include "expr/expr_table.h"
#include "expr/text.h"

namespace aoe {
namespace {

// A list with more nodes is written with temporaries for subexpressions that it uses more than
// once; a shorter one is easier to read without.
constexpr int64_t kLargeList = 160;
// Subexpressions of up to this many nodes are repeated: quicker to read than to look up.
constexpr int64_t kSmallTerm = 6;

// The type of a number that does not state one.
using Context = std::optional<DType>;

// Prints expressions of one stage, separated by semicolons. All decisions depend on the structure
// of the expressions, not on which nodes they share, so that a parsed text prints as it was.
class ListPrinter {
 public:
  ListPrinter(size_t out_rank, int& temporaries) : out_rank_(out_rank), temporaries_(temporaries) {}

  std::string print(const std::vector<Expr>& exprs, const std::vector<Context>& contexts) {
    std::vector<int> roots;
    int64_t size = 0;
    for (const Expr& expr : exprs) {
      roots.push_back(table_.add(expr));
      size = std::min(ExprTable::kHuge, size + table_[roots.back()].size);
    }
    count_uses(roots);
    large_ = size > kLargeList;
    names_.assign(table_.size(), -1);
    visited_.assign(table_.size(), false);
    for (size_t i = 0; i < roots.size(); ++i) {
      define(roots[i]);
      separate();
      write(roots[i], contexts[i], false);
    }
    return std::move(text_);
  }

 private:
  void count_uses(const std::vector<int>& roots) {
    uses_.assign(table_.size(), 0);
    for (const int root : roots) ++uses_[static_cast<size_t>(root)];
    for (size_t i = 0; i < table_.size(); ++i) {
      for (const int operand : table_[static_cast<int>(i)].operands) {
        ++uses_[static_cast<size_t>(operand)];
      }
    }
  }

  bool is_temporary(int id) const {
    const ExprTable::Entry& entry = table_[id];
    if (entry.height > 0 && entry.height % kPrintedNesting == 0) return true;
    return large_ && entry.size > kSmallTerm && uses_[static_cast<size_t>(id)] > 1;
  }

  void separate() {
    if (!text_.empty()) text_ += "; ";
  }

  // Writes the temporaries that the entry needs and that are not defined yet.
  void define(int id) {
    const auto at = static_cast<size_t>(id);
    if (visited_[at]) return;
    visited_[at] = true;
    for (const int operand : table_[id].operands) define(operand);
    if (!is_temporary(id)) return;
    separate();
    text_ += fmt::format("#{} = ", temporaries_);
    write(id, std::nullopt, false);
    names_[at] = temporaries_++;
  }

  // `nested`: as an operand of an infix form, where another infix form needs parentheses.
  void write(int id, Context context, bool nested) {
    const ExprTable::Entry& entry = table_[id];
    const Expr::Node& node = *entry.expr;
    if (const int name = names_[static_cast<size_t>(id)]; name >= 0) {
      text_ += fmt::format("#{}", name);
      return;
    }
    switch (node.op) {
      case ExprOp::constant: write_number(node, context); return;
      case ExprOp::axis: text_ += axis_name(node.id, out_rank_); return;
      case ExprOp::arg: text_ += fmt::format("${}", node.id); return;
      case ExprOp::load: write_load(entry); return;
      case ExprOp::cast: text_ += info(node.dtype).brief; break;
      default: break;
    }
    const std::vector<Context> contexts = contexts_of(entry, context);
    if (const std::string_view symbol = infix(node.op); !symbol.empty()) {
      if (nested) text_ += "(";
      write(entry.operands[0], contexts[0], true);
      text_ += fmt::format(" {} ", symbol);
      write(entry.operands[1], contexts[1], true);
      if (nested) text_ += ")";
      return;
    }
    if (node.op != ExprOp::cast) text_ += name(node.op);
    for (size_t i = 0; i < entry.operands.size(); ++i) {
      text_ += i == 0 ? "(" : ", ";
      write(entry.operands[i], contexts[i], false);
    }
    text_ += ")";
  }

  void write_number(const Expr::Node& node, Context context) {
    if (is_word(node)) text_ += node.id != 0 ? "true" : "false";
    else if (context == node.dtype) text_ += number_text(node);
    else text_ += fmt::format("{}:{}", number_text(node), info(node.dtype).brief);
  }

  void write_load(const ExprTable::Entry& entry) {
    const Expr::Node& node = *entry.expr;
    text_ += fmt::format("%{}[", node.id);
    for (int i = 0; i < node.rank; ++i) {
      if (i > 0) text_ += ", ";
      write(entry.operands[static_cast<size_t>(i)], DType::i64, false);
    }
    text_ += "]";
    if (entry.operands.size() == static_cast<size_t>(node.rank)) return;
    text_ += "?";
    write(entry.operands.back(), node.dtype, true);
  }

  static bool is_word(const Expr::Node& node) {
    return node.dtype == DType::boolean && (node.id == 0 || node.id == 1);
  }
  bool is_number(int id) const {
    const Expr& expr = table_[id].expr;
    return expr.is_constant() && !is_word(*expr);
  }

  // The contexts of the operands, as the parser determines them: see ExprParser::finish_pair.
  std::vector<Context> contexts_of(const ExprTable::Entry& entry, Context context) const {
    const ExprOp op = entry.expr->op;
    const auto pair = [&](int a, int b) {
      const bool number_a = is_number(a);
      const Context other_a = is_number(b) ? context : Context(table_[b].expr.dtype());
      return std::pair{number_a ? other_a : context,
                       number_a ? context : Context(table_[a].expr.dtype())};
    };
    if (op == ExprOp::logical_not) return {DType::boolean};
    if (op == ExprOp::cast || gives_bool(op)) context = std::nullopt;
    if (entry.operands.size() == 1) return {context};
    const bool three = entry.operands.size() == 3;
    const auto [a, b] = three ? pair(entry.operands[1], entry.operands[2])
                              : pair(entry.operands[0], entry.operands[1]);
    if (three) return {DType::boolean, a, b};
    return {a, b};
  }

  size_t out_rank_;
  int& temporaries_;
  ExprTable table_;
  std::vector<int> uses_;
  std::vector<int> names_;  // number of the temporary of each entry, or -1
  std::vector<bool> visited_;
  bool large_ = false;
  std::string text_;
};

std::string type_text(const TensorType& type) {
  return fmt::format("{}[{}]", info(type.dtype).brief, fmt::join(type.shape, ","));
}

// Whether the reducer equals the built-in one of its name.
bool is_fully_named(const Reducer& reducer) {
  const auto builtin = reducer_named(reducer.name, reducer.identity[0].dtype());
  if (!builtin || builtin->size() != reducer.size()) return false;
  ExprTable table;
  for (size_t i = 0; i < reducer.size(); ++i) {
    if (table.add(builtin->identity[i]) != table.add(reducer.identity[i])) return false;
    if (table.add(builtin->combine[i]) != table.add(reducer.combine[i])) return false;
  }
  return true;
}

class StagePrinter {
 public:
  StagePrinter(const Workload& workload, const Stage& stage) : workload_(workload), stage_(stage) {}

  std::string print() {
    std::vector<std::string> outputs;
    for (const int id : stage_.outputs) {
      outputs.push_back(fmt::format("%{} {}", id, type_text(type_of(id))));
    }
    std::string text = fmt::format("{} = ", fmt::join(outputs, ", "));
    if (stage_.reducer) text += reduction(*stage_.reducer);
    // Without `->`, the reduced value itself is the result.
    if (stage_.reducer && stage_.reducer->size() == 1 && stage_.results.size() == 1 &&
        stage_.results[0]->op == ExprOp::arg) {
      return text;
    }
    std::vector<Context> contexts;
    for (const int id : stage_.outputs) contexts.emplace_back(type_of(id).dtype);
    return text + (stage_.reducer ? " -> " : "") + list(stage_.results, contexts);
  }

 private:
  const TensorType& type_of(int id) const { return workload_.values[static_cast<size_t>(id)].type; }

  std::string list(const std::vector<Expr>& exprs, const std::vector<Context>& contexts) {
    return ListPrinter(stage_.axes.size(), temporaries_).print(exprs, contexts);
  }

  std::string reduction(const Reducer& reducer) {
    std::string text = reducer.name;
    std::vector<Context> contexts;
    for (const Expr& identity : reducer.identity) contexts.emplace_back(identity.dtype());
    if (!is_fully_named(reducer)) {
      text +=
          fmt::format("{{{} -> ", list(reducer.identity, std::vector<Context>(contexts.size())));
      text += list(reducer.combine, contexts) + "}";
    } else {
      // The parser finds the type of the reducer from its elements, so their numbers take the type
      // of the output.
      const Reducer f32 = *reducer_named(reducer.name, DType::f32);
      for (size_t i = 0; i < contexts.size(); ++i) {
        if (f32.identity[i].dtype() == DType::f32) contexts[i] = type_of(stage_.outputs[0]).dtype;
      }
    }
    std::vector<std::string> over;
    for (size_t i = 0; i < stage_.reduce_axes.size(); ++i) {
      const auto axis = static_cast<int64_t>(stage_.axes.size() + i);
      over.push_back(
          fmt::format("{}:{}", axis_name(axis, stage_.axes.size()), stage_.reduce_axes[i]));
    }
    return text + fmt::format("({}) {}", fmt::join(over, ","), list(stage_.elements, contexts));
  }

  const Workload& workload_;
  const Stage& stage_;
  int temporaries_ = 0;
};

std::string constant_text(const Tensor& constant) {
  if (constant.count() == 0) return "";
  if (const auto elements = elements_text(constant)) return " = " + *elements;
  return fmt::format(" = @{:016x}", contents_hash(constant));
}

}  // namespace

bool is_builtin(const Reducer& reducer) { return is_fully_named(reducer); }

bool rounds(const Reducer& reducer) {
  const std::string& name = reducer.name;
  const bool selects = name == "max" || name == "min" || name.starts_with("arg_");
  return is_float(reducer.identity[0].dtype()) && !(is_builtin(reducer) && selects);
}

std::string to_string(const Reducer& reducer) {
  if (is_builtin(reducer)) return reducer.name;
  int temporaries = 0;
  const std::vector<Context> contexts(reducer.size());
  const std::string identity = ListPrinter(0, temporaries).print(reducer.identity, contexts);
  const std::string combine = ListPrinter(0, temporaries).print(reducer.combine, contexts);
  return fmt::format("{}{{{} -> {}}}", reducer.name, identity, combine);
}

std::string to_string(const Expr& expr, size_t out_rank) {
  int temporaries = 0;
  return ListPrinter(out_rank, temporaries).print({expr}, {std::nullopt});
}

std::string to_string(const Workload& workload) {
  std::string text;
  for (const int id : workload.inputs) {
    const Workload::Value& value = workload.values[static_cast<size_t>(id)];
    text += fmt::format("{} %{} {}\n", value.weight ? "weight" : "in", id, type_text(value.type));
  }
  // Views and constants come before all stages.
  for (size_t i = 0; i < workload.values.size(); ++i) {
    const Workload::Value& value = workload.values[i];
    if (value.view_of >= 0) {
      text += fmt::format("view %{} {} = %{}\n", i, type_text(value.type), value.view_of);
    } else if (!value.constant.empty()) {
      text += fmt::format("constant %{} {}{}\n", i, type_text(value.type),
                          constant_text(value.constant));
    }
  }
  for (const Stage& stage : workload.stages) text += StagePrinter(workload, stage).print() + "\n";
  text += "out";
  for (size_t i = 0; i < workload.outputs.size(); ++i) {
    text += fmt::format("{} %{}", i > 0 ? "," : "", workload.outputs[i]);
  }
  return text + "\n";
}

uint64_t key_of(const Workload& workload) { return stable_hash(to_string(workload)); }

}  // namespace aoe
