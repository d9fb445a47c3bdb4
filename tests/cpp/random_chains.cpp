#include "tests/cpp/random_chains.h"

#include <fmt/format.h>

#include "expr/parse.h"
#include "measure/worker/random_tensor.h"

namespace aoe {
namespace {

class ChainMaker {
 public:
  explicit ChainMaker(uint64_t seed) : random_(seed) {}

  RandomWorkload make() {
    if (below(5) == 0) {
      attention();
    } else {
      // Mostly f32 with four dimensions: some transforms apply to f32 only.
      const int kind = below(8);
      dtype_ = kind == 0 ? "f64" : kind == 1 ? "i32" : "f32";
      if (below(4) == 0) n_ = "", y_ = 'a', x_ = 'b', c_ = 'c';
      batch_ = n_.empty() ? 1 : 1 + below(2);
      height_ = any({1, 2, 3, 4, 5, 6, 8, 9, 12, 15, 16});
      width_ = any({1, 2, 3, 5, 8, 9, 13, 16});
      channels_ = any({1, 2, 4, 7, 8, 16, 17, 24, 32});
      value_ = input();
      const int count = 2 + below(3);
      for (int i = 0; i < count; ++i) stage(i);
      if (is_float() && below(4) == 0) normalization();
    }
    const auto workload = std::make_shared<const Workload>(parse_workload(text()));
    RandomWorkload made{workload, {}, {2e-4}};
    for (const int id : workload->inputs) {
      std::mt19937 numbers(static_cast<uint32_t>(random_()));
      made.inputs.push_back(random_tensor(workload->values[static_cast<size_t>(id)].type, numbers));
    }
    return made;
  }

 private:
  int below(int count) { return static_cast<int>(random_() % static_cast<uint64_t>(count)); }
  int64_t any(const std::vector<int64_t>& of) {
    return of[static_cast<size_t>(below(static_cast<int>(of.size())))];
  }

  // Inputs are numbered before stages, but their number is known only at the end. Stages are
  // therefore numbered from here on first, and renumbered in `text`.
  static constexpr int kFirstStage = 40;

  std::string text() const {
    std::string text = fmt::format("{}{}out %{}\n", inputs_, stages_, value_);
    for (int stage = kFirstStage; stage < next_stage_; ++stage) {
      const std::string from = fmt::format("%{}", stage);
      const std::string to = fmt::format("%{}", next_input_ + stage - kFirstStage);
      for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
        text.replace(at, from.size(), to);
      }
    }
    return text;
  }

  int input_of(const std::string& shape, bool weight) {
    const int number = next_input_++;
    inputs_ += fmt::format("{} %{} {}[{}]\n", weight ? "weight" : "in", number, dtype_, shape);
    return number;
  }
  std::string pixels() const {
    return fmt::format("{}{},{}", n_.empty() ? "" : fmt::format("{},", batch_), height_, width_);
  }
  std::string shape() const { return fmt::format("{},{}", pixels(), channels_); }
  // Index of a pixel, and of an element of it.
  std::string pixel() const { return fmt::format("{}{}, {}", n_, y_, x_); }
  std::string point() const { return fmt::format("{}, {}", pixel(), c_); }

  int input() { return input_of(shape(), false); }
  void add(const std::string& definition) {
    const int number = next_stage_++;
    stages_ += fmt::format("%{} {}[{}] = {}\n", number, dtype_, shape(), definition);
    value_ = number;
  }
  bool is_float() const { return dtype_ != "i32"; }

  // A random epilogue of a sum.
  std::string epilogue() {
    switch (below(4)) {
      case 0: return "";
      case 1: return " -> max($0, 0)";
      case 2:
        return fmt::format(" -> $0 + %{}[{}]", input_of(fmt::format("{}", channels_), true), c_);
      default:
        return fmt::format(" -> {} + %{}[{}]", is_float() ? "tanh($0)" : "$0", input(), point());
    }
  }

  void stage(int which) {
    switch (which == 0 ? below(4) : 1 + below(4)) {
      case 0: {
        const std::string load = fmt::format("%{}[{}]", value_, point());
        return add(fmt::format("{} + {}", is_float() ? "exp(" + load + ")" : load, load));
      }
      case 1: return pointwise();
      case 2: return window(true);
      case 3: return window(false);
      default: return convolution();
    }
  }

  void pointwise() {
    const int64_t in = channels_;
    channels_ = any({3, 8, 16, 24, 33});
    const int weights = input_of(fmt::format("{},{}", channels_, in), below(4) > 0);
    add(fmt::format("sum(r:{}) %{}[{}, r] * %{}[{}, r]{}", in, value_, pixel(), weights, c_,
                    epilogue()));
  }

  struct Along {
    int64_t taps, step, gap, before, made;
  };
  Along along(int64_t extent) {
    Along a{1 + (2 + below(5)) / 2 % 3, 1 + below(3) / 2, 1 + below(4) / 3, 0, 0};
    a.before = below(static_cast<int>(a.taps));
    const int64_t after = below(static_cast<int>(a.taps));
    const int64_t reach = (a.taps - 1) * a.gap + 1;
    a.made = std::max<int64_t>(1, (extent + a.before + after - reach) / a.step + 1);
    return a;
  }
  static std::string index(char axis, char tap, const Along& a) {
    return fmt::format("(({} * {}) + ({} * {})) - {}", axis, a.step, tap, a.gap, a.before);
  }

  void window(bool weighted) {
    const Along y = along(height_);
    const Along x = along(width_);
    height_ = y.made;
    width_ = x.made;
    const std::string load = fmt::format("%{}[{}{}, {}, {}]?{}", value_, n_, index(y_, 'r', y),
                                         index(x_, 's', x), c_, weighted ? "0" : "-3");
    const std::string taps = fmt::format("(r:{},s:{})", y.taps, x.taps);
    if (!weighted) return add(fmt::format("max{} {}", taps, load));
    const int weights = input_of(fmt::format("{},{},{}", y.taps, x.taps, channels_), below(4) > 0);
    add(fmt::format("sum{} {} * %{}[r, s, {}]{}", taps, load, weights, c_, epilogue()));
  }

  void convolution() {
    const int64_t in = channels_;
    const Along y = along(height_);
    const Along x = along(width_);
    height_ = y.made;
    width_ = x.made;
    channels_ = any({4, 8, 16, 20});
    const int weights =
        input_of(fmt::format("{},{},{},{}", channels_, in, y.taps, x.taps), below(4) > 0);
    add(fmt::format("sum(r:{},s:{},t:{}) %{}[{}{}, {}, r]?0 * %{}[{}, r, s, t]{}", in, y.taps,
                    x.taps, value_, n_, index(y_, 's', y), index(x_, 't', x), weights, c_,
                    epilogue()));
  }

  // Over the channels.
  void normalization() {
    const int number = next_stage_;
    const std::string type = fmt::format("{}[{}]", dtype_, pixels());
    const std::string at = pixel();
    stages_ += fmt::format("%{} {} = max(r:{}) %{}[{}, r]\n", number, type, channels_, value_, at);
    stages_ += fmt::format("%{} {} = sum(r:{}) exp(%{}[{}, r] - %{}[{}])\n", number + 1, type,
                           channels_, value_, at, number, at);
    next_stage_ += 2;
    add(fmt::format("exp(%{}[{}] - %{}[{}]) / %{}[{}]", value_, point(), number, at, number + 1,
                    at));
  }

  void attention() {
    const int64_t heads = 1 + below(3);
    const int64_t queries = any({1, 2, 4, 6, 12, 15, 24});
    const int64_t keys = any({3, 8, 16, 17, 32});
    const int64_t depth = any({4, 8, 16, 24});
    const int64_t out = any({4, 8, 16, 17});
    const int q = input_of(fmt::format("{},{},{}", queries, heads, depth), false);
    const int k = input_of(fmt::format("{},{},{}", keys, heads, depth), false);
    const int v = input_of(fmt::format("{},{},{}", keys, heads, out), false);
    const int n = next_stage_;
    stages_ += fmt::format(
        "%{0} f32[{1},{2},{3}] = sum(r:{4}) %{5}[b, a, r] * %{6}[c, a, r] -> $0 * 0.25\n"
        "%{7} f32[{1},{2}] = max(r:{3}) %{0}[a, b, r]\n"
        "%{8} f32[{1},{2}] = sum(r:{3}) exp(%{0}[a, b, r] - %{7}[a, b])\n"
        "%{9} f32[{1},{2},{3}] = exp(%{0}[a, b, c] - %{7}[a, b]) / %{8}[a, b]\n"
        "%{10} f32[{1},{2},{11}] = sum(r:{3}) %{9}[a, b, r] * %{12}[r, a, c]\n",
        n, heads, queries, keys, depth, q, k, n + 1, n + 2, n + 3, n + 4, out, v);
    value_ = n + 4;
    next_stage_ += 5;
  }

  std::mt19937_64 random_;
  std::string inputs_, stages_;
  int next_input_ = 0;
  int next_stage_ = kFirstStage;
  int value_ = 0;
  std::string dtype_ = "f32";
  std::string n_ = "a, ";  // names of the axes: batch (may be empty), rows, columns, channels
  char y_ = 'b', x_ = 'c', c_ = 'd';
  int64_t batch_ = 1, height_ = 1, width_ = 1, channels_ = 1;
};

}  // namespace

RandomWorkload random_chain(uint64_t seed) { return ChainMaker(seed).make(); }

}  // namespace aoe
