#include "regex/regex.h"

#include <algorithm>

#include "base/error.h"
#include "base/utf8.h"
#include "regex/regex_parser.h"

namespace aoe {
namespace {

// Limit of the nodes that are expanded. Repetitions copy the steps of their operand, so that
// (((a{1000}){1000}){1000}) would exhaust the memory.
constexpr size_t kMaxSteps = 20000;

// Translates a parsed expression to steps (Thompson's construction).
class Assembler {
 public:
  std::vector<Regex::Step> assemble(const RegexNode& node) {
    emit(node);
    steps_.emplace_back();
    return std::move(steps_);
  }

 private:
  using Op = Regex::Step::Op;

  size_t add(Op op) {
    steps_.emplace_back();
    steps_.back().op = op;
    return steps_.size() - 1;
  }

  void emit(const RegexNode& node) {
    require(++emitted_ <= kMaxSteps, "the pattern is too large");
    switch (node.kind) {
      case RegexNode::Kind::one_of: steps_[add(Op::one_of)].set = node.set; return;
      case RegexNode::Kind::check: steps_[add(Op::check)].check = node.check; return;
      case RegexNode::Kind::sequence:
        for (const RegexNode& part : node.parts) emit(part);
        return;
      case RegexNode::Kind::alternatives: emit_alternatives(node); return;
      case RegexNode::Kind::repeat: emit_repeat(node); return;
    }
  }

  void emit_alternatives(const RegexNode& node) {
    std::vector<size_t> ends;
    for (size_t i = 0; i < node.parts.size(); ++i) {
      const bool last = i + 1 == node.parts.size();
      const size_t fork = last ? 0 : add(Op::fork);
      emit(node.parts[i]);
      if (last) break;
      ends.push_back(add(Op::jump));
      steps_[fork].target = steps_.size();
    }
    for (const size_t end : ends) steps_[end].target = steps_.size();
  }

  void emit_repeat(const RegexNode& node) {
    for (int i = 0; i < node.least; ++i) emit(node.parts[0]);
    if (node.most == RegexNode::kNoLimit) {
      const size_t fork = add(Op::fork);
      emit(node.parts[0]);
      steps_[add(Op::jump)].target = fork;
      steps_[fork].target = steps_.size();
      return;
    }
    std::vector<size_t> forks;
    for (int i = node.least; i < node.most; ++i) {
      forks.push_back(add(Op::fork));
      emit(node.parts[0]);
    }
    for (const size_t fork : forks) steps_[fork].target = steps_.size();
  }

  std::vector<Regex::Step> steps_;
  size_t emitted_ = 0;
};

bool contains(const Regex::Set& set, char32_t c) {
  const auto after = std::upper_bound(
      set.begin(), set.end(), c, [](char32_t x, const auto& range) { return x < range.first; });
  return after != set.begin() && c <= std::prev(after)->second;
}

bool is_word(char32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool holds(Regex::Check check, const std::u32string& text, size_t at) {
  const bool begin = at == 0;
  const bool end = at == text.size();
  const bool edge = (!begin && is_word(text[at - 1])) != (!end && is_word(text[at]));
  switch (check) {
    case Regex::Check::text_begin: return begin;
    case Regex::Check::text_end: return end;
    case Regex::Check::line_begin: return begin || text[at - 1] == '\n';
    case Regex::Check::line_end: return end || text[at] == '\n';
    case Regex::Check::word_edge: return edge;
    case Regex::Check::no_word_edge: return !edge;
  }
  return false;
}

}  // namespace

Regex::Regex(std::string_view pattern) {
  try {
    steps_ = Assembler().assemble(parse_regex(utf8_decoded(pattern)));
  } catch (const Error& error) {
    constexpr size_t kShown = 60;
    const bool cut = pattern.size() > kShown;
    throw error.within(fmt::format("pattern '{}{}'", pattern.substr(0, kShown), cut ? "..." : ""));
  }
}

void Regex::follow(size_t first, const std::u32string& text, size_t at, std::vector<size_t>& active,
                   std::vector<size_t>& reached) const {
  std::vector<size_t> open{first};
  while (!open.empty()) {
    const size_t state = open.back();
    open.pop_back();
    // Positions are stored plus 1; 0 means never.
    if (reached[state] == at + 1) continue;
    reached[state] = at + 1;
    const Step& step = steps_[state];
    switch (step.op) {
      case Step::Op::fork:
        open.push_back(step.target);
        open.push_back(state + 1);
        break;
      case Step::Op::jump: open.push_back(step.target); break;
      case Step::Op::check:
        if (holds(step.check, text, at)) open.push_back(state + 1);
        break;
      case Step::Op::one_of:
      case Step::Op::accept: active.push_back(state); break;
    }
  }
}

bool Regex::matches(std::string_view encoded) const {
  const std::u32string text = utf8_decoded(encoded);
  std::vector<size_t> reached(steps_.size(), 0);  // last position of each step, plus 1
  std::vector<size_t> active;
  follow(0, text, 0, active, reached);
  for (size_t at = 0; at < text.size() && !active.empty(); ++at) {
    std::vector<size_t> next;
    for (const size_t state : active) {
      const Step& step = steps_[state];
      if (step.op == Step::Op::one_of && contains(step.set, text[at])) {
        follow(state + 1, text, at + 1, next, reached);
      }
    }
    active = std::move(next);
  }
  return std::any_of(active.begin(), active.end(),
                     [&](size_t state) { return steps_[state].op == Step::Op::accept; });
}

}  // namespace aoe
