#include "tests/cpp/random_workloads.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "expr/builder.h"
#include "expr/parse.h"
#include "measure/worker/numeric_check.h"
#include "op/math/matmul.h"
#include "op/math/reduction.h"
#include "op/nn/convolution.h"
#include "op/nn/softmax.h"
#include "op/nn/window.h"
#include "op/operator.h"
#include "op/tensor/movement.h"
#include "plan/layout.h"

// Random chains of operators on small tensors with awkward extents. Inexact values (sums of floats,
// exp) are never inputs of discontinuous functions (casts to integers, arg max), so that a small
// error stays small. In reading order: draws of types, shapes and inputs; one method per operator;
// calls of whole operators; cases for Winograd and Strassen; contents of inputs.

namespace aoe {
namespace {

constexpr int64_t kMostElements = 20000;

class Maker {
 public:
  explicit Maker(uint64_t seed) : random_(seed) {}

  RandomWorkload make() {
    if (below(8) == 0) return operator_call();
    if (below(64) == 0) return filtered();
    if (below(64) == 0) return weighted();
    current_ = begin();
    const int count = 1 + below(4);
    for (int i = 0; i < count; ++i) step();
    std::vector<Operand> outputs{current_.value};
    std::vector<double> tolerances{current_.tolerance};
    if (below(4) == 0 && before_.value.id >= 0 && before_.value.id != current_.value.id) {
      outputs.push_back(before_.value);
      tolerances.push_back(before_.tolerance);
    }
    Workload workload = builder_.finish(outputs);
    return finished(in_other_layouts(std::move(workload)), std::move(tolerances));
  }

 private:
  struct Made {
    Operand value;
    double tolerance = 0;  // as in RandomWorkload; 0: bitwise equal

    bool exact() const { return tolerance == 0; }
  };
  struct Range {
    double low, high;
  };
  // Changes some inputs and outputs to channels-last or blocked layouts, where possible.
  Workload in_other_layouts(Workload workload) {
    Task task{std::move(workload), {}, {}};
    for (const int input : task.workload.inputs) task.inputs.push_back(input);
    for (size_t i = 0; i < task.workload.outputs.size(); ++i) {
      task.outputs.push_back(-2 - static_cast<int>(i));
    }
    std::vector<std::pair<int, size_t>> values;  // value and rank
    const auto rank = [&](int value) {
      return task.workload.values[static_cast<size_t>(value)].type.shape.size();
    };
    for (const int input : task.workload.inputs) values.emplace_back(input, rank(input));
    for (size_t i = 0; i < task.outputs.size(); ++i) {
      values.emplace_back(task.outputs[i], rank(task.workload.outputs[i]));
    }
    for (const auto& [value, dimensions] : values) {
      if (dimensions < 3 || below(3) != 0) continue;
      const auto layout = any<Layout>({channels_last(dimensions), channels_blocked(dimensions, 4),
                                       channels_blocked(dimensions, 8)});
      if (auto moved = with_layout(task, value, layout)) {
        task = std::move(*moved);
      }
    }
    return std::move(task.workload);
  }

  int below(int count) { return static_cast<int>(random_() % static_cast<uint64_t>(count)); }
  template <typename T>
  T any(const std::vector<T>& of) {
    return of[static_cast<size_t>(below(static_cast<int>(of.size())))];
  }
  bool coin() { return below(2) == 0; }

  int64_t extent(int64_t most = 40) {
    static const std::vector<int64_t> extents{1,  2,  3,  4,  5,  7,  8,  9,  11, 13,
                                              16, 17, 19, 23, 31, 32, 33, 37, 64, 67};
    int64_t chosen = any(extents);
    while (chosen > most) chosen = any(extents);
    return chosen;
  }
  Shape shape(int rank) {
    Shape result;
    for (int i = 0; i < rank; ++i) {
      const int64_t room =
          std::max<int64_t>(1, kMostElements / std::max<int64_t>(1, element_count(result)));
      result.push_back(extent(std::min<int64_t>(room, 67)));
    }
    return result;
  }
  DType float_type() {
    return any<DType>(
        {DType::f32, DType::f32, DType::f32, DType::f32, DType::f64, DType::f16, DType::bf16});
  }
  DType any_type() {
    return any<DType>({DType::f32,        DType::f64,      DType::f16,        DType::bf16,
                       DType::i8,         DType::i16,      DType::i32,        DType::i64,
                       DType::u8,         DType::u16,      DType::u32,        DType::u64,
                       DType::boolean,    DType::i4,       DType::u4,         DType::i2,
                       DType::u2,         DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2,
                       DType::f8e5m2fnuz, DType::f8e8m0,   DType::f4e2m1});
  }

  Operand input(DType dtype, Shape of, Range range = {-2, 2}) {
    const Operand made = builder_.input({dtype, std::move(of)});
    ranges_.push_back(range);
    return made;
  }

  Made begin() {
    switch (below(7)) {
      case 0:
      case 1: return matrices();
      case 2:
      case 3: return convolved();
      case 4: return {input(any_type(), shape(1 + below(4)))};
      default: return {input(float_type(), shape(1 + below(4)))};
    }
  }

  void step() {
    const Made last = current_;
    const DType dtype = last.value.dtype;
    const bool wide_float =
        dtype == DType::f32 || dtype == DType::f64 || dtype == DType::f16 || dtype == DType::bf16;
    switch (below(13)) {
      case 0:
      case 1: unary(); break;
      case 2:
      case 3: binary(); break;
      case 4: reduced(); break;
      case 5:
        if (wide_float && last.value.rank() > 0 && last.value.shape.back() > 0) {
          become(softmax(builder_, last.value, below(static_cast<int>(last.value.rank()))));
        }
        break;
      case 6: normalized(); break;
      case 7:
      case 8: moved(); break;
      case 9: gathered(); break;
      case 10:
        if (last.exact() || (wide_float)) {
          const DType to = last.exact() ? any_type() : any<DType>({DType::f32, DType::f64});
          if (to != dtype) current_.value = builder_.cast_to(last.value, to);
        }
        break;
      case 11: pooled(); break;
      default: {
        const int64_t count = last.value.rank() > 1 ? last.value.shape[0] * last.value.shape[1] : 1;
        if (last.value.rank() > 1) {
          Shape joined{count};
          joined.insert(joined.end(), last.value.shape.begin() + 2, last.value.shape.end());
          current_.value = builder_.reshape(last.value, joined);
        }
      }
    }
    if (element_count(current_.value.shape) > 4 * kMostElements) current_ = last;
    else if (current_.value.id != last.value.id) before_ = last;
  }

  void unary() {
    const DType dtype = current_.value.dtype;
    const int which = below(7);
    if (dtype == DType::f8e8m0) return;
    if (is_float(dtype) && which < 4) {
      loosen();
      current_.value = builder_.map(current_.value, [&](const Expr& x) {
        if (which == 0) return exp(min(x, number_like(x, 2)));
        if (which == 1) return tanh(x);
        if (which == 2) return log(abs(x) + 1);
        return erf(x);
      });
      return;
    }
    current_.value = builder_.map(current_.value, [&](const Expr& x) {
      if (dtype == DType::boolean) return unary_of(ExprOp::logical_not, x);
      if (which == 4) return abs(x);
      if (which == 5) return max(x, number_like(x, 0));
      return -x;
    });
  }
  static Expr unary_of(ExprOp op, const Expr& x) { return aoe::unary(op, x); }

  // Marks the current value as inexact.
  void loosen() {
    current_.tolerance = std::max(current_.tolerance, tolerance_of(current_.value.dtype));
  }
  void become(const Operand& inexact) {
    current_.value = inexact;
    loosen();
  }

  // Combines the current value with a random operand that broadcasts to it.
  void binary() {
    const DType dtype = current_.value.dtype;
    if (dtype == DType::f8e8m0) return;
    Shape other = current_.value.shape;
    for (int64_t& extent : other) {
      if (below(3) == 0) extent = 1;
    }
    while (!other.empty() && below(4) == 0) other.erase(other.begin());
    if (below(6) == 0 && !other.empty()) other.back() = current_.value.shape.back();
    const int which = below(5);
    const Operand right = input(dtype, other);
    current_.value = builder_.map(current_.value, right, [&](const Expr& a, const Expr& b) -> Expr {
      if (dtype == DType::boolean) return which < 2 ? (a & b) : which < 4 ? (a | b) : (a ^ b);
      if (which == 0) return a + b;
      if (which == 1) return a - b;
      if (which == 2) return min(a, b);
      if (which == 3 && is_float(dtype)) return select(lt(b, 0), a, b);
      return a * b;
    });
    // A product of bf16 numbers may be denormal in f32.
    if (is_float(dtype) && which == 4 && dtype == DType::bf16) loosen();
  }

  void reduced() {
    const Operand x = current_.value;
    if (x.dtype == DType::boolean || x.dtype == DType::f8e8m0) return;
    std::vector<int64_t> axes;
    for (int64_t i = 0; i < x.rank(); ++i) {
      if (coin()) axes.push_back(i);
    }
    const bool keep = coin();
    const ReducedAxes over(x.shape, axes, keep);
    const int which = below(7);
    const auto element = [&](const Axes& out, const Axes& in) { return x(over.index(out, in)); };
    if (which == 4 && current_.exact() && x.rank() > 0) {
      const int64_t axis = below(static_cast<int>(x.rank()));
      const Reducer reducer = coin() ? arg_max_of(x.dtype, coin()) : arg_min_of(x.dtype, coin());
      current_ = {best_position(builder_, x, axis, keep, reducer)};
      return;
    }
    if (which == 5 && (x.dtype == DType::f32 || x.dtype == DType::f64)) {
      const auto results = builder_.reduce_all(
          moments_of(x.dtype), over.kept(), over.over(),
          [&](const Axes& out, const Axes& in) {
            const Expr value = element(out, in);
            return std::vector<Expr>{number_like(value, 1), value, number_like(value, 0)};
          },
          [&](const Axes&, const std::vector<Expr>& tuple) {
            return std::vector<Expr>{tuple[1], sqrt(tuple[2] / tuple[0] + 1)};
          });
      become(results[static_cast<size_t>(below(2))]);
      return;
    }
    if (which == 6) {
      // Factors near 1, so that the product neither overflows nor underflows.
      if (x.dtype != DType::f32 && x.dtype != DType::f64) return;
      become(builder_.reduce(
          product_of(x.dtype), over.kept(), over.over(),
          [&](const Axes& out, const Axes& in) { return 1 + tanh(element(out, in)) * 0.01; }));
      return;
    }
    const bool sums = which < 2;
    const Reducer reducer = sums ? sum_of(x.dtype) : which == 2 ? max_of(x.dtype) : min_of(x.dtype);
    current_.value = builder_.reduce(reducer, over.kept(), over.over(), element);
    if (!sums || !is_float(x.dtype)) return;
    loosen();
    // Under cancellation the sum is small, but the errors of all terms remain.
    constexpr double kMany = 64;
    current_.tolerance *= std::max(1.0, static_cast<double>(over.count()) / kMany);
  }

  void normalized() {
    const Operand x = current_.value;
    if ((x.dtype != DType::f32 && x.dtype != DType::f64) || x.rank() == 0) return;
    const std::vector<int64_t> axes = axes_since(below(static_cast<int>(x.rank())), x.rank());
    const ReducedAxes over(x.shape, axes, true);
    if (over.count() == 0) return;
    const auto count = static_cast<double>(over.count());
    const Operand mean = reduce_keeping(builder_, sum_of(x.dtype), x, axes,
                                        [&](const Expr& e) { return e / count; });
    const Operand centred =
        builder_.map(x, mean, [](const Expr& a, const Expr& b) { return a - b; });
    const Operand spread = reduce_keeping(builder_, sum_of(x.dtype), centred, axes,
                                          [&](const Expr& e) { return e * e / count; });
    become(builder_.map(centred, spread,
                        [](const Expr& a, const Expr& b) { return a / sqrt(b + 1); }));
  }

  void moved() {
    const Operand x = current_.value;
    if (x.rank() == 0) return;
    const auto rank = static_cast<size_t>(x.rank());
    switch (below(4)) {
      case 0: {
        std::vector<int64_t> perm(rank);
        std::iota(perm.begin(), perm.end(), 0);
        std::shuffle(perm.begin(), perm.end(), random_);
        current_.value = transpose(builder_, x, perm);
        return;
      }
      case 1: {
        const int axis = below(static_cast<int>(rank));
        std::vector<Operand> parts{x};
        const int more = 1 + below(2);
        for (int i = 0; i < more; ++i) {
          Shape other = x.shape;
          other[static_cast<size_t>(axis)] = extent(8);
          parts.push_back(input(x.dtype, other));
        }
        current_.value = concat(builder_, parts, axis);
        return;
      }
      case 2: {
        std::vector<aoe::Range> ranges;
        for (const int64_t all : x.shape) {
          const int64_t step = 1 + below(3);
          const int64_t start = all > 1 ? below(static_cast<int>(all)) : 0;
          const bool back = below(4) == 0;
          const int64_t room = back ? start / step + 1 : (all - start - 1) / step + 1;
          ranges.push_back({start, std::max<int64_t>(1, room - below(2)), back ? -step : step});
        }
        current_.value = slice(builder_, x, ranges);
        return;
      }
      default: {
        const PadMode mode = any<PadMode>(
            {PadMode::constant, PadMode::constant, PadMode::edge, PadMode::reflect, PadMode::wrap});
        std::vector<Margin> margins;
        for (const int64_t all : x.shape) {
          const auto margin = [&] {
            const int amount = below(4);
            return mode == PadMode::constant || mode == PadMode::edge
                       ? int64_t{amount}
                       : std::min<int64_t>(amount, all - 1);
          };
          margins.push_back({margin(), margin()});
        }
        current_.value = pad(builder_, x, margins, mode);
      }
    }
  }

  void gathered() {
    const Operand x = current_.value;
    if (x.rank() == 0) return;
    const auto axis = static_cast<size_t>(below(static_cast<int>(x.rank())));
    const double last = static_cast<double>(x.shape[axis]);
    const Operand indices = input(coin() ? DType::i64 : DType::i32, {extent(16)}, {0, last - 1});
    Shape out = x.shape;
    out[axis] = indices.shape[0];
    current_.value = builder_.compute(out, [&](const Axes& point) {
      Axes index = point;
      index[axis] = cast(DType::i64, indices({point[axis]}));
      return x(index);
    });
  }

  Window window(const Shape& input, bool pads) {
    Window w;
    w.input = input;
    for (size_t i = 0; i < input.size(); ++i) {
      w.kernel.push_back(std::min<int64_t>(1 + below(4), input[i]));
      w.strides.push_back(1 + below(3));
      int64_t dilation = 1 + below(2);
      if ((w.kernel[i] - 1) * dilation >= input[i]) dilation = 1;
      w.dilations.push_back(dilation);
      w.pads_begin.push_back(pads ? below(3) : 0);
      w.pads_end.push_back(pads ? below(3) : 0);
      const int64_t free = input[i] + w.pads_begin[i] + w.pads_end[i] - w.span(i);
      w.output.push_back(free / w.strides[i] + 1);
    }
    return w;
  }

  Made convolved() {
    const int rank = 1 + below(3);
    const int64_t groups = any<int64_t>({1, 1, 1, 2, 3});
    const int64_t in = any<int64_t>({1, 2, 3, 4, 7, 8, 16});
    const int64_t out = any<int64_t>({1, 2, 4, 5, 8, 9, 16, 19});
    Shape spatial;
    for (int i = 0; i < rank; ++i) spatial.push_back(extent(rank == 1 ? 67 : rank == 2 ? 23 : 8));
    const bool depthwise = below(5) == 0;
    const Groups split = depthwise ? Groups{in * groups, 1, 1} : Groups{groups, in, out};
    const DType dtype = below(8) == 0 ? float_type() : DType::f32;
    Shape x{1 + below(2), split.count * split.inputs};
    x.insert(x.end(), spatial.begin(), spatial.end());
    const Window w = window(spatial, coin());
    Shape filter{split.count * split.outputs, split.inputs};
    filter.insert(filter.end(), w.kernel.begin(), w.kernel.end());
    const Operand image = input(dtype, x);
    const Operand weights = input(dtype, filter, {-1, 1});
    std::optional<Operand> bias;
    if (coin()) bias = input(dtype, {filter[0]});
    return {convolution(builder_, image, weights, bias, w, split), tolerance_of(dtype)};
  }

  Made matrices() {
    const DType dtype = any<DType>(
        {DType::f32, DType::f32, DType::f32, DType::f64, DType::i32, DType::f16, DType::i64});
    const Shape batch = coin() ? Shape{} : Shape{1 + below(4)};
    const int64_t m = extent(67);
    const int64_t n = extent(67);
    const int64_t k = extent(67);
    const auto matrix = [&](int64_t rows, int64_t columns, bool batched) {
      Shape of = batched ? batch : Shape{};
      const bool turned = below(3) == 0;
      of.push_back(turned ? columns : rows);
      of.push_back(turned ? rows : columns);
      Operand made = input(dtype, of);
      if (!turned) return made;
      std::vector<int64_t> perm(of.size());
      std::iota(perm.begin(), perm.end(), 0);
      std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
      return transpose(builder_, made, perm);
    };
    const Operand left = matrix(m, k, coin());
    const Operand right = matrix(k, n, coin());
    return {matmul(builder_, left, right), is_float(dtype) ? tolerance_of(dtype) : 0};
  }

  void pooled() {
    const Operand x = current_.value;
    // Padding is -inf, which 8-bit floats lack.
    const bool small_float = is_float(x.dtype) && info(x.dtype).bytes == 1;
    if (x.rank() < 3 || x.dtype == DType::boolean || small_float) return;
    const Window w = window({x.shape.begin() + 2, x.shape.end()}, coin());
    const bool average = coin() && (x.dtype == DType::f32 || x.dtype == DType::f64);
    Shape out{x.shape[0], x.shape[1]};
    out.insert(out.end(), w.output.begin(), w.output.end());
    const Expr outside = average ? Expr::constant(x.dtype, 0) : lowest(x.dtype);
    current_.value =
        builder_.reduce(average ? sum_of(x.dtype) : max_of(x.dtype), out, w.kernel,
                        [&](const Axes& at, const Axes& in) {
                          Axes index{at[0], at[1]};
                          for (const Expr& e : w.positions(std::span(at).subspan(2), in))
                            index.push_back(e);
                          return w.load(x, index, outside);
                        });
    if (average) loosen();
  }

  // Operators whose definitions need an OpContext.
  RandomWorkload operator_call() {
    Attributes attributes;
    OpCall call;
    call.opset = 17;
    call.attributes = &attributes;
    call.wanted = {true};
    std::string_view name;
    const auto add = [&](DType dtype, Shape of) {
      call.inputs.push_back({true, TensorType{dtype, std::move(of)}, std::nullopt});
    };
    const int rank = 1 + below(2);
    Shape spatial;
    for (int i = 0; i < rank; ++i) spatial.push_back(2 + below(14));
    const auto with = [&](Shape lead, const Shape& rest) {
      lead.insert(lead.end(), rest.begin(), rest.end());
      return lead;
    };
    const auto each = [&](int most) {
      std::vector<int64_t> numbers;
      for (int i = 0; i < rank; ++i) numbers.push_back(1 + below(most));
      return numbers;
    };
    if (below(3) > 0) {
      name = "ConvTranspose";
      const int64_t groups = 1 + below(2);
      const int64_t in = groups * (1 + below(8));
      const std::vector<int64_t> kernel = each(4);
      attributes["strides"] = each(3);
      attributes["dilations"] = each(2);
      attributes["group"] = groups;
      add(DType::f32, with({1 + below(2), in}, spatial));
      add(DType::f32, with({in, 1 + below(9)}, kernel));
    } else {
      name = "AveragePool";
      std::vector<int64_t> kernel = each(3);
      for (size_t i = 0; i < kernel.size(); ++i) kernel[i] = std::min(kernel[i], spatial[i]);
      attributes["kernel_shape"] = kernel;
      attributes["strides"] = each(2);
      attributes["ceil_mode"] = int64_t{below(2)};
      attributes["auto_pad"] = std::string(coin() ? "SAME_UPPER" : "SAME_LOWER");
      add(DType::f32, with({1 + below(3), 1 + below(9)}, spatial));
    }
    Lowered lowered = lower(*find_operator("", name, call.opset), call);
    ranges_.assign(lowered.workload->inputs.size(), {-2, 2});
    return finished(std::move(*lowered.workload), {tolerance_of(DType::f32)});
  }

  // A convolution to which Winograd's algorithm applies, in the layout of a plan, with an epilogue.
  RandomWorkload filtered() {
    const int64_t images = 1 + below(2);
    const int64_t top = below(2);
    const int64_t left = below(2);
    const int64_t height = 2 + below(16);
    const int64_t width = 2 + below(16);
    const int64_t in = any<int64_t>({1, 3, 16, 32, 33, 48});
    const int64_t out = any<int64_t>({8, 16, 32, 48, 64});
    const int others = below(3) == 0 ? below(20) : below(3);
    const Shape made{images, std::max<int64_t>(1, height + 2 * top - 2),
                     std::max<int64_t>(1, width + 2 * left - 2), out};
    const auto text = [](const Shape& shape) { return fmt::format("{}", fmt::join(shape, ",")); };
    std::string lines = fmt::format("in %0 f32[{}]\nweight %1 f32[{},{},3,3]\nweight %2 f32[{}]\n",
                                    text({images, height, width, in}), out, in, out);
    std::string result = "$0 + %2[d]";
    for (int i = 0; i < others; ++i) {
      const int number = 3 + i;
      lines += fmt::format("in %{} f32[{}]\n", number, text(made));
      result = fmt::format("({}) {} %{}[a, b, c, d]", result, coin() ? "+" : "-", number);
    }
    const int value = 3 + others;
    lines += fmt::format(
        "%{} f32[{}] = sum(r:{},s:3,t:3) %0[a, (b + s) - {}, (c + t) - {}, r]?0 * %1[d, r, s, t] "
        "-> "
        "max({}, 0)\nout %{}\n",
        value, text(made), in, top, left, result, value);
    return with_contents(lines);
  }

  // A product with weights to which Strassen's algorithm applies, with an epilogue.
  RandomWorkload weighted() {
    const int64_t rows = 2 + below(any<int>({12, 80, 600}));
    const int64_t depth = 2 * extent();
    const int64_t columns = any<int64_t>({16, 32, 48, 64, 96, 128, 160});
    std::string lines = fmt::format("in %0 f32[{0},{1}]\nweight %1 f32[{1},{2}]\nin %2 f32[{0}]\n",
                                    rows, depth, columns);
    std::string result = "$0 + %2[a]";
    const int others = below(5);
    for (int i = 0; i < others; ++i) {
      lines += fmt::format("in %{} f32[{},{}]\n", 3 + i, rows, columns);
      result = fmt::format("({}) {} %{}[a, b]", result, coin() ? "+" : "-", 3 + i);
    }
    lines += fmt::format("%{0} f32[{1},{2}] = sum(r:{3}) %0[a, r] * %1[r, b] -> {4}\nout %{0}\n",
                         3 + others, rows, columns, depth, result);
    return with_contents(lines);
  }

  RandomWorkload with_contents(const std::string& lines) {
    RandomWorkload made{std::make_shared<const Workload>(parse_workload(lines)), {}, {1e-4}};
    for (const int id : made.workload->inputs) {
      made.inputs.push_back(contents(made.workload->values[static_cast<size_t>(id)].type, {-2, 2}));
    }
    return made;
  }

  RandomWorkload finished(Workload workload, std::vector<double> tolerances) {
    RandomWorkload result;
    result.tolerances = std::move(tolerances);
    const bool weights = below(3) > 0;
    for (size_t i = 0; i < workload.inputs.size(); ++i) {
      Workload::Value& value = workload.values[static_cast<size_t>(workload.inputs[i])];
      value.weight = weights && i > 0 && coin();
      result.inputs.push_back(contents(value.type, ranges_[i]));
    }
    result.workload = std::make_shared<const Workload>(std::move(workload));
    return result;
  }

  Tensor contents(const TensorType& type, Range range) {
    Tensor tensor(type);
    const bool is_unsigned = is_unsigned_int(type.dtype) || type.dtype == DType::boolean;
    dispatch(type.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      std::uniform_real_distribution<double> real(range.low, range.high);
      std::uniform_int_distribution<int64_t> whole(
          is_unsigned ? std::max<int64_t>(0, static_cast<int64_t>(range.low))
                      : static_cast<int64_t>(range.low),
          static_cast<int64_t>(range.high) - (type.dtype == DType::boolean ? 1 : 0));
      for (int64_t i = 0; i < tensor.count(); ++i) {
        if (is_float(type.dtype)) tensor.data<T>()[i] = static_cast<T>(real(random_));
        else tensor.data<T>()[i] = static_cast<T>(whole(random_));
      }
    });
    return tensor;
  }

  std::mt19937_64 random_;
  Builder builder_;
  std::vector<Range> ranges_;  // ranges of the inputs
  Made current_;
  Made before_;
};

}  // namespace

RandomWorkload random_workload(uint64_t seed) { return Maker(seed).make(); }

}  // namespace aoe
