#include "policy/policy_text.h"

#include <fmt/ranges.h>

#include <charconv>
#include <limits>

#include "base/error.h"
#include "expr/text.h"
#include "policy/packing.h"

// The text form of policies (docs/policy.md). In reading order: loop_text and item_text print the
// decisions about items; PolicyParser reads a text, with a method for each kind of line (strips,
// stage, product, loops) and for the words in it; to_string and parse_policy are at the end.
//
// Lines about stages come first: the first 'loops' or 'product' line fixes the structure, and with
// it the schedule, which gives the parser the kinds of items and the names of their axes.
//
// Invariant: the parser consumes characters only through `advance`, so that errors have the line
// and column of what they are about.

namespace aoe {
namespace {

constexpr size_t kLongestText = 1 << 20;

std::string loop_text(const LoopPolicy& policy, const Loop& loop) {
  const auto named = [&](int axis) { return axis_name(axis, loop.out_rank); };
  std::vector<std::string> words;
  if (policy.vector_axis >= 0) {
    words.push_back(fmt::format("{}:{}", named(policy.vector_axis), policy.lanes));
    if (policy.unroll > 1) words.back() += fmt::format("x{}", policy.unroll);
  }
  if (policy.block_axis >= 0) {
    words.push_back(fmt::format("{}/{}", named(policy.block_axis), policy.block));
  }
  if (policy.streaming) words.emplace_back("stream");
  return fmt::format(" [{}]", fmt::join(words, " "));
}

std::string item_text(const ItemPolicy& item, const Item& scheduled, const Schedule& schedule) {
  std::string text;
  const auto add_loops = [&](const NestPolicy& policy, const Nest& nest) {
    for (size_t i = 0; i < policy.loops.size(); ++i) {
      text += loop_text(policy.loops[i], nest.loops[i]);
    }
  };
  if (const auto* loops = std::get_if<NestPolicy>(&item)) {
    text = fmt::format("loops outer={}", loops->outer);
    add_loops(*loops, std::get<Nest>(scheduled));
    return text;
  }
  const auto& p = std::get<ProductPolicy>(item);
  text = fmt::format("product tile={}x{}x{} block={}x{} first={}{}{}", p.rows, p.vectors, p.lanes,
                     p.depth, p.columns, p.columns_first ? "columns" : "rows",
                     p.prefetch ? " prefetch" : "", p.streaming ? " stream" : "");
  if (p.share != Share::automatic) text += fmt::format(" share={}", name(p.share));
  if (p.strip > 0) text += fmt::format(" strip={}", p.strip);
  if (p.packing.loops.empty()) return text;
  text += " pack";
  add_loops(p.packing, *packing_nest(schedule, std::get<ProductItem>(scheduled)));
  return text;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class PolicyParser {
 public:
  PolicyParser(std::string_view text, const Workload& workload) : rest_(text), workload_(workload) {
    require(text.size() <= kLongestText, "policy: the text has {} bytes; at most {} are read",
            text.size(), kLongestText);
  }

  // With a `device`, a text without items gets the default policies of all items.
  Policy parse(const Device* device) {
    while (!at_end()) {
      if (take('\n') || take(';')) continue;
      constexpr std::string_view kWords = "'threads', 'stage', 'strips', 'loops' or 'product'";
      const std::string_view word = name(kWords);
      if (word == "threads") policy_.threads = number();
      else if (word == "stage") stage();
      else if (word == "strips") strips();
      else if (word == "loops") loops();
      else if (word == "product") product();
      else fail_at_word(fmt::format("{} is expected", kWords), word);
      if (!at_line_end()) fail_expected("the end of the line is");
    }
    if (device != nullptr && policy_.items.empty()) {
      policy_.items = default_policy(schedule(), policy_.structure, *device).items;
    }
    if (policy_.items.size() != schedule().items.size()) {
      fail("{}: {} more 'loops' or 'product' expected, one for each item of the workload", place(),
           schedule().items.size() - policy_.items.size());
    }
    return std::move(policy_);
  }

 private:
  const Schedule& schedule() {
    if (!schedule_) schedule_ = schedule_of(workload_, policy_.structure);
    return *schedule_;
  }

  const Item& next_item() {
    const size_t i = policy_.items.size();
    if (i >= schedule().items.size()) {
      fail("{}: the workload has no more than {} items to decide about", place(), i);
    }
    return schedule().items[i];
  }

  size_t stage_number() {
    if (schedule_) fail("{}: stages are decided before loops and products", place());
    const int which = number();
    const size_t count = workload_.stages.size();
    if (static_cast<size_t>(which) >= count) {
      fail("{}: stage {}; the workload has {}, counted from 0", place(), which, count);
    }
    return static_cast<size_t>(which);
  }

  void strips() {
    Strips strips;
    strips.first = stage_number();
    expect('-', "'-' and the last stage");
    strips.last = stage_number();
    const size_t axes = workload_.stages[strips.last].axes.size();
    const std::string_view word = name("an axis of the last stage");
    const auto axis = axis_named(word, axes);
    if (!axis || *axis < 0 || static_cast<size_t>(*axis) >= axes) {
      fail_at_word(fmt::format("one of the {} axes of stage {} is expected", axes, strips.last),
                   word);
    }
    strips.axis = static_cast<int>(*axis);
    expect('/', "'/' and the rows of a strip");
    strips.rows = number();
    policy_.structure.strips.push_back(strips);
  }

  void stage() {
    const size_t which = stage_number();
    policy_.structure.stages.resize(workload_.stages.size());
    StagePolicy& stage = policy_.structure.stages[which];
    do {
      const std::string_view word =
          name("'rows', 'root', 'loops', 'direct', 'winograd4' or 'strassen'");
      if (word == "rows") stage.place = Place::rows;
      else if (word == "root") stage.place = Place::root;
      else if (word == "loops") stage.product = false;
      else if (word == "direct") stage.copied = false;
      else if (word == "winograd2") stage.winograd = 2;
      else if (word == "winograd4") stage.winograd = 4;
      else if (word == "strassen") stage.strassen = true;
      else
        fail_at_word(
            "'rows', 'root', 'loops', 'direct', 'winograd2', 'winograd4' or 'strassen' is expected",
            word);
    } while (!at_line_end());
  }

  void product() {
    if (!std::holds_alternative<ProductItem>(next_item())) {
      fail("{}: item {} of the workload is a nest: 'loops' is expected", place(),
           policy_.items.size() + 1);
    }
    ProductPolicy p;
    sizes("tile", p.rows, p.vectors, p.lanes);
    sizes("block", p.depth, p.columns);
    field("first");
    const std::string_view first = name("'rows' or 'columns'");
    if (first != "rows" && first != "columns")
      fail_at_word("'rows' or 'columns' is expected", first);
    p.columns_first = first == "columns";
    while (!at_line_end()) {
      constexpr std::string_view kWords =
          "'prefetch', 'stream', 'share', 'strip', 'pack' or the end of the line";
      const std::string_view word = name(kWords);
      if (word == "prefetch") p.prefetch = true;
      else if (word == "stream") p.streaming = true;
      else if (word == "share") p.share = share();
      else if (word == "strip") p.strip = (equals(word), number());
      else if (word == "pack") packing(p);
      else fail_at_word(fmt::format("{} is expected", kWords), word);
    }
    policy_.items.emplace_back(p);
  }

  Share share() {
    equals("share");
    const std::string_view word = name("'rows', 'columns' or 'blocks'");
    for (const Share one : {Share::blocks, Share::columns, Share::rows}) {
      if (word == aoe::name(one)) return one;
    }
    fail_at_word("'rows', 'columns' or 'blocks' is expected", word);
  }

  void packing(ProductPolicy& policy) {
    const auto nest = packing_nest(*schedule_, std::get<ProductItem>(next_item()));
    if (!nest) fail("{}: nothing is packed here", place());
    policy.packing.outer = static_cast<int>(nest->outer.size());
    for (const Loop& loop : nest->loops) policy.packing.loops.push_back(loop_policy(loop));
  }

  void loops() {
    const auto* nest = std::get_if<Nest>(&next_item());
    if (nest == nullptr) {
      fail("{}: item {} of the workload is a contraction: 'product' is expected", place(),
           policy_.items.size() + 1);
    }
    NestPolicy policy;
    sizes("outer", policy.outer);
    for (const Loop& loop : nest->loops) policy.loops.push_back(loop_policy(loop));
    policy_.items.emplace_back(std::move(policy));
  }

  // Lists the axes of a loop: "a, b and r". They may differ from the workload's: axes are merged
  // and split.
  static std::string axes_of(const Loop& loop) {
    std::string text;
    const auto count = static_cast<int64_t>(loop.extents.size());
    for (int64_t i = 0; i < count; ++i) {
      text += (i == 0 ? "" : i + 1 == count ? " and " : ", ") + axis_name(i, loop.out_rank);
    }
    return text;
  }

  LoopPolicy loop_policy(const Loop& loop) {
    LoopPolicy policy;
    expect('[', "'[' and the decisions of a loop");
    while (!take(']')) {
      const std::string_view word = name("an axis, 'stream' or ']'");
      if (word == "stream") {
        policy.streaming = true;
        continue;
      }
      const auto axis = axis_named(word, loop.out_rank);
      if (!axis || *axis < 0 || *axis >= static_cast<int64_t>(loop.extents.size())) {
        fail_at_word(
            fmt::format("the loop has {}: one of them, 'stream' or ']' is expected", axes_of(loop)),
            word);
      }
      if (take('/')) {
        if (policy.block_axis >= 0) fail("{}: a loop has one block axis only", place());
        policy.block_axis = static_cast<int>(*axis);
        policy.block = number();
        continue;
      }
      expect(':', "':' and a number of lanes, or '/' and a block");
      if (policy.vector_axis >= 0) fail("{}: a loop has one vector axis only", place());
      policy.vector_axis = static_cast<int>(*axis);
      policy.lanes = number();
      if (take('x')) policy.unroll = number();
    }
    return policy;
  }

  // --- words ------------------------------------------------------------------------------------

  std::string place() const { return fmt::format("policy, line {}, column {}", line_, column_); }

  void advance(size_t count) {
    for (const char c : rest_.substr(0, count)) {
      ++column_;
      if (c != '\n') continue;
      ++line_;
      column_ = 1;
    }
    rest_.remove_prefix(count);
  }
  void skip_spaces() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t' || rest_[0] == '\r')) advance(1);
  }
  bool at_end() {
    skip_spaces();
    return rest_.empty();
  }
  bool at_line_end() { return at_end() || rest_[0] == '\n' || rest_[0] == ';'; }
  bool take(char c) {
    if (at_end() || rest_[0] != c) return false;
    advance(1);
    return true;
  }
  std::string found() {
    if (at_end()) return "the end of the text";
    if (at_line_end()) return "the end of the line";
    return fmt::format("'{}'", rest_.substr(0, 1));
  }
  [[noreturn]] void fail_expected(std::string_view what) {
    fail("{}: {} expected, not {}", place(), what, found());
  }
  void expect(char c, std::string_view what) {
    if (!take(c)) fail_expected(what);
  }
  // Reads a name: letters, followed by digits for high axes ("z12").
  std::string_view name(std::string_view what) {
    skip_spaces();
    size_t length = 0;
    while (length < rest_.size() && is_letter(rest_[length])) ++length;
    if (length == 0) fail_expected(what);
    while (length < rest_.size() && is_digit(rest_[length])) ++length;
    word_place_ = place();
    const std::string_view word = rest_.substr(0, length);
    advance(length);
    return word;
  }
  [[noreturn]] void fail_at_word(std::string_view what, std::string_view word) const {
    fail("{}: {}, not '{}'", word_place_, what, word.substr(0, 40));
  }
  void field(std::string_view key) {
    const std::string_view word = name(fmt::format("'{}='", key));
    if (word != key) fail_at_word(fmt::format("'{}=' is expected", key), word);
    equals(key);
  }
  void equals(std::string_view key) { expect('=', fmt::format("'=' behind '{}'", key)); }
  // Reads a field of sizes: "tile=6x2x8".
  template <typename T, typename... More>
  void sizes(std::string_view key, T& first, More&... more) {
    field(key);
    first = number();
    ((expect('x', "'x' and a number"), more = number()), ...);
  }
  int number() {
    skip_spaces();
    int value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error == std::errc::result_out_of_range) {
      fail("{}: a number up to {} is expected", place(), std::numeric_limits<int>::max());
    }
    if (error != std::errc() || value < 0) fail_expected("a number is");
    advance(static_cast<size_t>(end - rest_.data()));
    return value;
  }

  std::string_view rest_;
  const Workload& workload_;
  int64_t line_ = 1;
  int64_t column_ = 1;
  std::string word_place_;
  Policy policy_;
  std::optional<Schedule> schedule_;
};

}  // namespace

std::string to_string(const Policy& policy, const Schedule& schedule) {
  std::string text;
  if (policy.threads > 0) text += fmt::format("threads {}\n", policy.threads);
  for (size_t i = 0; i < policy.structure.stages.size(); ++i) {
    const StagePolicy& stage = policy.structure.stages[i];
    if (stage == StagePolicy{}) continue;
    text += fmt::format("stage {}{}{}{}{}{}\n", i,
                        stage.place == Place::rows   ? " rows"
                        : stage.place == Place::root ? " root"
                                                     : "",
                        stage.product ? "" : " loops", stage.copied ? "" : " direct",
                        stage.winograd == 0 ? "" : fmt::format(" winograd{}", stage.winograd),
                        stage.strassen ? " strassen" : "");
  }
  for (const Strips& strips : policy.structure.strips) {
    // An output axis of any number has a name if the rank is the highest possible.
    text += fmt::format("strips {}-{} {}/{}\n", strips.first, strips.last,
                        axis_name(strips.axis, kHighestRank), strips.rows);
  }
  for (size_t i = 0; i < policy.items.size(); ++i) {
    text += item_text(policy.items[i], schedule.items[i], schedule) + "\n";
  }
  return text;
}

std::string to_string(const Policy& policy, const Workload& workload) {
  return to_string(policy, schedule_of(workload, policy.structure));
}

Policy parse_policy(std::string_view text, const Workload& workload) {
  return PolicyParser(text, workload).parse(nullptr);
}

Policy parse_policy(std::string_view text, const Workload& workload, const Device& device) {
  return PolicyParser(text, workload).parse(&device);
}

Numerics numerics_of(std::string_view policy_text) {
  // Algorithms are words of their own on lines about stages; no other word of the grammar contains
  // their names.
  if (policy_text.find("strassen") != std::string_view::npos) return Numerics::strassen;
  if (policy_text.find("winograd") != std::string_view::npos) return Numerics::winograd;
  return Numerics::direct;
}

}  // namespace aoe
