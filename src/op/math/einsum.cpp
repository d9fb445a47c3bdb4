#include <algorithm>
#include <map>

#include "op/context.h"
#include "op/math/matmul.h"

namespace aoe {
namespace {

// The label of an axis: the letter itself, or kEllipsis + i for the i-th axis under an ellipsis,
// counted from its right end, so that ellipses of different rank broadcast.
using Label = int;
using Labels = std::vector<Label>;
constexpr Label kEllipsis = 1000;

bool holds(const Labels& labels, Label label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

struct Term {
  Labels letters;
  int ellipsis = -1;  // number of letters before it; -1 if there is none
};

Term parse_term(std::string_view text, std::string_view equation) {
  Term term;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      term.letters.push_back(c);
    } else if (text.substr(i, 3) == "..." && term.ellipsis < 0) {
      term.ellipsis = static_cast<int>(term.letters.size());
      i += 2;
    } else {
      fail("equation '{}' has '{}' where letters and one '...' a term are expected", equation, c);
    }
  }
  return term;
}

Labels expanded(const Term& term, int64_t hidden) {
  Labels labels = term.letters;
  if (term.ellipsis < 0) return labels;
  Labels under;
  for (int64_t i = hidden; i-- > 0;) under.push_back(kEllipsis + static_cast<Label>(i));
  labels.insert(labels.begin() + term.ellipsis, under.begin(), under.end());
  return labels;
}

struct Equation {
  std::vector<Term> inputs;
  std::optional<Term> output;  // empty if the equation has no "->"
};

Equation parse(const std::string& text) {
  std::string compact = text;
  std::erase(compact, ' ');
  Equation equation;
  std::string_view left = compact;
  if (const size_t arrow = left.find("->"); arrow != left.npos) {
    equation.output = parse_term(left.substr(arrow + 2), text);
    left = left.substr(0, arrow);
  }
  while (true) {
    const size_t comma = left.find(',');
    equation.inputs.push_back(parse_term(left.substr(0, comma), text));
    if (comma == left.npos) return equation;
    left = left.substr(comma + 1);
  }
}

// An operand with the labels of its axes.
struct Named {
  Operand operand;
  Labels labels;

  Expr at(const std::map<Label, Expr>& position) const {
    Axes index;
    for (size_t i = 0; i < labels.size(); ++i) {
      index.push_back(operand.shape[i] == 1 ? Expr::integer(DType::i64, 0)
                                            : position.at(labels[i]));
    }
    return operand(std::move(index));
  }
};

// Sums the product of one or two terms over all labels that are not in `result`.
Named contracted(Builder& b, const std::vector<Named>& terms, const Labels& result,
                 const std::map<Label, int64_t>& extents) {
  Labels summed;
  for (const Named& term : terms) {
    for (const Label label : term.labels) {
      if (!holds(result, label) && !holds(summed, label)) summed.push_back(label);
    }
  }
  const auto shape_of = [&](const Labels& labels) {
    Shape shape;
    for (const Label label : labels) shape.push_back(extents.at(label));
    return shape;
  };
  const auto element = [&](const Axes& out, const Axes& in) {
    std::map<Label, Expr> position;
    for (size_t i = 0; i < result.size(); ++i) position[result[i]] = out[i];
    for (size_t i = 0; i < summed.size(); ++i) position[summed[i]] = in[i];
    const Expr first = terms[0].at(position);
    if (terms.size() == 1) return cast(product_type(first.dtype()), first);
    return product(first, terms[1].at(position));
  };
  const DType dtype = terms[0].operand.dtype;
  if (summed.empty()) {
    return {
        b.compute(shape_of(result), [&](const Axes& out) { return cast(dtype, element(out, {})); }),
        result};
  }
  return {contraction(b, dtype, shape_of(result), shape_of(summed), element), result};
}

// Output of an equation without "->": the axes of the ellipsis, then the letters that occur once in
// all inputs, in alphabetical order.
Labels implied_output(const std::vector<Named>& terms, const Labels& ellipsis) {
  std::map<Label, int> uses;
  for (const Named& term : terms) {
    for (const Label label : term.labels) ++uses[label];
  }
  Labels labels = ellipsis;
  for (const auto& [label, count] : uses) {
    if (count == 1 && label < kEllipsis) labels.push_back(label);
  }
  return labels;
}

}  // namespace

void einsum(OpContext& op) {
  const std::string text = op.text("equation");
  const Equation equation = parse(text);
  require(static_cast<int>(equation.inputs.size()) == op.input_count(),
          "equation '{}' has {} terms for {} inputs", text, equation.inputs.size(),
          op.input_count());

  std::vector<Named> terms;
  std::map<Label, int64_t> extents;
  int64_t most_hidden = 0;
  for (int i = 0; i < op.input_count(); ++i) {
    const Term& term = equation.inputs[static_cast<size_t>(i)];
    const Operand operand = op.in(i);
    const int64_t hidden = operand.rank() - static_cast<int64_t>(term.letters.size());
    require(term.ellipsis < 0 ? hidden == 0 : hidden >= 0,
            "term {} of equation '{}' does not fit an input of shape {}", i, text,
            to_string(operand.shape));
    most_hidden = std::max(most_hidden, hidden);
    terms.push_back({operand, expanded(term, hidden)});
    for (size_t axis = 0; axis < operand.shape.size(); ++axis) {
      const int64_t extent = operand.shape[axis];
      int64_t& known = extents.emplace(terms.back().labels[axis], extent).first->second;
      require(known == extent || known == 1 || extent == 1,
              "equation '{}' gives one name to axes of extents {} and {}", text, known, extent);
      if (known == 1) known = extent;
    }
  }

  Labels output;
  if (equation.output) {
    output = expanded(*equation.output, most_hidden);
  } else {
    output = implied_output(terms, expanded({{}, 0}, most_hidden));
  }
  for (size_t i = 0; i < output.size(); ++i) {
    require(extents.contains(output[i]),
            "the output of equation '{}' has a label that no input has", text);
    require(std::find(output.begin() + i + 1, output.end(), output[i]) == output.end(),
            "equation '{}' repeats an axis of its output", text);
  }

  // Contract from left to right, two terms at a time: one product of all terms would iterate over
  // all labels at once.
  Named left = terms[0];
  for (size_t i = 1; i + 1 < terms.size(); ++i) {
    Labels kept;
    for (const Named* side : {&left, &terms[i]}) {
      for (const Label label : side->labels) {
        bool needed = holds(output, label);
        for (size_t j = i + 1; j < terms.size(); ++j) needed |= holds(terms[j].labels, label);
        if (needed && !holds(kept, label)) kept.push_back(label);
      }
    }
    left = contracted(op, {left, terms[i]}, kept, extents);
  }
  std::vector<Named> last{left};
  if (terms.size() > 1) last.push_back(terms.back());
  op.out(contracted(op, last, output, extents).operand);
}

}  // namespace aoe
