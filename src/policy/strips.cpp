#include "policy/strips.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "expr/affine.h"
#include "expr/rewrite.h"
#include "policy/contraction.h"
#include "policy/stage_groups.h"

// Computes several stages strip by strip. In reading order:
//   note_loads        from the last stage to the first: the range of rows that each has to compute
//   rewrite_stage     splits the strip axis into (strip, row in strip)
//   stages_by_strip   after other rewrites: which stages of a schedule run inside the strip loop
//
// Ranges follow interval arithmetic. A 3 x 3 convolution behind one with stride 2, strips of 4 rows
// of the last stage:
//
//   stage 1    rows 4 s     .. 4 s + 3      Range{stride 4, low  0, count 4}
//   stage 0    rows 4 s - 1 .. 4 s + 4      Range{stride 4, low -1, count 6}, with a halo of 1
//   its input  rows 8 s - 3 .. 8 s + 9      stride 8, low -3, count 13
//
// Rows beyond the tensor are computed as well, so that all strips have the same extent; they are
// replaced by the padding of the loads that read them.
//
// Invariant: all strips of a stage have one extent and are evenly spaced. Values between stages
// have an additional dimension, which counts strips; halos are stored twice.
namespace aoe {
namespace {

// The positions that a stage computes for a strip: stride * strip + low + (0 .. count - 1).
struct Range {
  int64_t stride = 0, low = 0, count = 0;

  int64_t high() const { return low + count - 1; }
};

class StripRewrite {
 public:
  StripRewrite(const Workload& workload, const Strips& strips)
      : from_(workload), to_(workload), strips_(strips), at_(static_cast<size_t>(strips.axis)) {}

  std::optional<Workload> rewritten() {
    const Stage& last = from_.stages[strips_.last];
    if (at_ >= last.axes.size() || last.axes[at_] % strips_.rows != 0) return std::nullopt;
    count_ = last.axes[at_] / strips_.rows;
    for (size_t s = strips_.first; s < strips_.last; ++s) {
      for (const int output : from_.stages[s].outputs) made_[output] = s;
    }
    if (is_used_elsewhere()) return std::nullopt;
    ranges_.resize(from_.stages.size());
    ranges_[strips_.last] = {strips_.rows, 0, strips_.rows};
    // Backwards, because the readers of a stage determine its range.
    for (size_t s = strips_.last + 1; s-- > strips_.first;) {
      if (ranges_[s].count == 0 || !note_loads(s)) return std::nullopt;
    }
    for (size_t s = strips_.first; s <= strips_.last; ++s) rewrite_stage(s);
    return std::move(to_);
  }

 private:
  bool is_used_elsewhere() const {
    const auto is_made = [&](int value) { return made_.contains(from_.storage(value)); };
    if (std::any_of(from_.outputs.begin(), from_.outputs.end(), is_made)) return true;
    bool used = false;
    for (size_t s = 0; s < from_.stages.size(); ++s) {
      const bool inside = s > strips_.first && s <= strips_.last;
      for_each_load(from_.stages[s], [&](const Expr& load) {
        const auto value = static_cast<int>(load->id);
        used = used || (is_made(value) && (!inside || !made_.contains(value)));
      });
    }
    return used;
  }

  // The range of the strip dimension that a load reads, in a stage that computes the range
  // `computed`.
  std::optional<Range> read_range(const Stage& stage, const Range& computed,
                                  const Expr& load) const {
    const Shape extents = stage.extents();
    const Shape& shape = from_.type_of(load->id).shape;
    if (shape.size() <= at_) return std::nullopt;
    for (size_t d = 0; d < shape.size(); ++d) {
      const Expr& index = load->operands[d];
      const bool before = d < at_;
      if (before && (!follows_axis(index, d, extents[d]) || shape[d] != extents[d]))
        return std::nullopt;
      if (d > at_ && depends_on_axis(index, static_cast<int64_t>(at_))) return std::nullopt;
    }
    const auto form = affine_of(load->operands[at_], extents.size());
    if (!form || form->coefficients[at_] < 1) return std::nullopt;
    // Axes before the strip axis (batches) are part of the strip loop: they must not shift
    // positions.
    for (size_t i = 0; i < at_; ++i) {
      if (form->coefficients[i] != 0 && extents[i] != 1) return std::nullopt;
    }
    using Wide = __int128;
    const Wide factor = form->coefficients[at_];
    const Wide stride = factor * computed.stride;
    Wide low = factor * computed.low + form->constant;
    Wide high = factor * computed.high() + form->constant;
    for (size_t i = at_ + 1; i < extents.size(); ++i) {
      const Wide reach = Wide{form->coefficients[i]} * (extents[i] - 1);
      (reach < 0 ? low : high) += reach;
    }
    // 128 bits, since products of strides may overflow. Strips that reach as far beyond an edge as
    // the axis is long would compute mostly padding.
    const Wide extent = shape[at_];
    if (low < -extent || stride * (count_ - 1) + high > 2 * extent) return std::nullopt;
    return Range{static_cast<int64_t>(stride), static_cast<int64_t>(low),
                 static_cast<int64_t>(high - low + 1)};
  }

  bool note_loads(size_t s) {
    const Stage& stage = from_.stages[s];
    if (at_ >= stage.axes.size()) return false;
    bool fits = true;
    for_each_load(stage, [&](const Expr& load) {
      const auto maker = made_.find(static_cast<int>(load->id));
      if (!fits || maker == made_.end()) return;
      const auto read = read_range(stage, ranges_[s], load);
      fits = read.has_value();
      if (!fits) return;
      Range& range = ranges_[maker->second];
      if (range.count == 0) range = *read;
      fits = range.stride == read->stride;
      const int64_t high = std::max(range.high(), read->high());
      range.low = std::min(range.low, read->low);
      range.count = high - range.low + 1;
      if (!has_out_of_range_value(load)) return;
      const Expr& outside = load->operands.back();
      Expr& known = outside_[static_cast<int>(load->id)];
      known = known ? known : outside;
      // Compared bit by bit: 0 and -0 are different paddings.
      fits = fits && outside.is_constant() && known->id == outside->id &&
             std::bit_cast<uint64_t>(known->number) == std::bit_cast<uint64_t>(outside->number);
    });
    return fits;
  }

  void rewrite_stage(size_t s) {
    const Range& range = ranges_[s];
    Stage& stage = to_.stages[s];
    const Expr position = Expr::axis(at_) * range.stride + Expr::axis(at_ + 1) + range.low;
    const std::vector<Expr> axes = moved_axes(stage.extents().size(), at_, position, 1);
    const int64_t extent = stage.axes[at_];
    const bool leaves = range.low < 0 || range.stride * (count_ - 1) + range.high() >= extent;
    const auto split = [&](Shape& shape) {
      shape[at_] = range.count;
      shape.insert(shape.begin() + static_cast<int64_t>(at_), count_);
    };
    split(stage.axes);
    const Shape extents = stage.extents();
    for (Expr& expr : stage.elements) expr = moved(expr, axes, s, extents);
    for (size_t i = 0; i < stage.results.size(); ++i) {
      Expr& expr = stage.results[i];
      expr = moved(expr, axes, s, extents);
      if (s == strips_.last || !leaves) continue;
      // A reader without padding uses rows beyond the edge only for results that are discarded, so
      // any value will do.
      const auto outside = outside_.find(stage.outputs[i]);
      const Expr inside = le(Expr::position(0), position) & lt(position, extent);
      expr = select(inside, expr,
                    outside != outside_.end() ? outside->second : Expr::constant(expr.dtype(), 0));
    }
    for (int& output : stage.outputs) {
      if (s < strips_.last) {
        split(to_.values[static_cast<size_t>(output)].type.shape);
        continue;
      }
      // The result keeps its memory, since strips of the last stage do not overlap: the original
      // value becomes a view of the one with a strip dimension.
      Workload::Value strips = to_.values[static_cast<size_t>(output)];
      split(strips.type.shape);
      to_.values.push_back(strips);
      to_.values[static_cast<size_t>(output)].view_of = static_cast<int>(to_.values.size()) - 1;
      output = static_cast<int>(to_.values.size()) - 1;
    }
  }

  // Returns the stage's expression over its new axes. Loads of values between the stages read the
  // rows of the same strip. Other loads may now leave their tensor, for rows that are not used:
  // they get padding of 0, so that they read nothing out of bounds.
  Expr moved(const Expr& expr, const std::vector<Expr>& axes, size_t s,
             const Shape& extents) const {
    return rewrite(expr, [&](const Expr& e) -> Expr {
      if (e->op == ExprOp::axis) return axes[static_cast<size_t>(e->id)];
      if (e->op != ExprOp::load) return {};
      const auto maker = made_.find(static_cast<int>(e->id));
      std::vector<Expr> index;
      for (size_t d = 0; d < static_cast<size_t>(e->rank); ++d) {
        if (maker != made_.end() && d == at_) {
          std::vector<Expr> in_strip = axes;
          in_strip[at_] = Expr::axis(at_ + 1) + ranges_[s].low;
          index.push_back(Expr::axis(at_));
          index.push_back(with_axes(e->operands[d], in_strip) - ranges_[maker->second].low);
        } else {
          index.push_back(moved(e->operands[d], axes, s, extents));
        }
      }
      Expr outside;
      if (has_out_of_range_value(e)) {
        outside = moved(e->operands.back(), axes, s, extents);
      } else if (maker == made_.end() && leaves_tensor(e->id, index, extents)) {
        outside = Expr::constant(e.dtype(), 0);
      }
      return Expr::load(e->id, e.dtype(), index, outside);
    });
  }

  bool leaves_tensor(int64_t value, const std::vector<Expr>& index, const Shape& extents) const {
    const Shape& shape = from_.type_of(value).shape;
    for (size_t d = 0; d < shape.size(); ++d) {
      const auto range = interval_of(index[d], extents);
      if (range && !range->within({0, shape[d] - 1})) return true;
    }
    return false;
  }

  const Workload& from_;
  Workload to_;
  Strips strips_;
  size_t at_;
  int64_t count_ = 0;            // number of strips
  std::map<int, size_t> made_;   // value between the stages -> stage that computes it
  std::vector<Range> ranges_;    // by stage
  std::map<int, Expr> outside_;  // value -> padding of the loads that read it
};

}  // namespace

std::optional<Workload> split_into_strips(const Workload& workload, const Strips& strips) {
  if (strips.first >= strips.last || strips.last >= workload.stages.size() || strips.axis < 0 ||
      strips.rows < 1) {
    return std::nullopt;
  }
  for (size_t s = strips.first; s <= strips.last; ++s) {
    if (element_count(workload.stages[s].extents()) == 0) return std::nullopt;
  }
  return StripRewrite(workload, strips).rewritten();
}

std::vector<int> stages_by_strip(const Workload& workload, const std::vector<size_t>& given,
                                 const std::vector<Strips>& strips, std::vector<StripLoop>& loops) {
  const size_t count = workload.stages.size();
  std::vector<int> loop_of(count, -1);
  loops.assign(strips.size(), {});
  for (size_t l = 0; l < strips.size(); ++l) {
    const auto at = static_cast<size_t>(strips[l].axis);
    std::set<size_t> inside;
    Shape shared;
    for (size_t s = count; s-- > 0;) {
      if (given[s] < strips[l].first || given[s] > strips[l].last) continue;
      const Shape& axes = workload.stages[s].axes;
      if (axes.size() <= at) continue;
      const Shape leading = head(axes, at + 1);
      if (shared.empty()) shared = leading;
      if (leading == shared) inside.insert(s);
    }
    // Stages whose values are read across strips run before the loop. Removing one may move readers
    // of another one out of the loop, so this repeats until nothing changes.
    const auto is_read_across = [&](size_t maker) {
      const std::vector<int>& outputs = workload.stages[maker].outputs;
      const std::set<int> made(outputs.begin(), outputs.end());
      return std::any_of(inside.begin(), inside.end(), [&](size_t s) {
        return s != maker &&
               !reads_same_outer_point(workload, workload.stages[s], made, shared, at + 1);
      });
    };
    const auto next = [&] { return std::find_if(inside.begin(), inside.end(), is_read_across); };
    for (auto maker = next(); maker != inside.end(); maker = next()) inside.erase(maker);
    // Values that live for one strip. A value that a stage behind the loop reads is stored whole.
    // No other stage outside the loop may read a value computed inside.
    std::set<int> between;
    for (const size_t s : inside) {
      for (const int output : workload.stages[s].outputs) between.insert(workload.storage(output));
    }
    for (const int output : workload.outputs) between.erase(workload.storage(output));
    bool fits = !inside.empty();
    for (size_t s = 0; s < count; ++s) {
      if (inside.contains(s)) continue;
      for_each_load(workload.stages[s], [&](const Expr& load) {
        const int value = workload.storage(static_cast<int>(load->id));
        if (!between.contains(value)) return;
        fits = fits && given[s] > strips[l].last;
        between.erase(value);
      });
    }
    // The strips of a product are parts of its outer points and rows (product_in_strip). The shared
    // axes come first among its output axes, so there must not be more of them than of these: the
    // others would divide its columns. Axes of extent 1 count on neither side.
    const auto leading = static_cast<size_t>(
        std::count_if(shared.begin(), shared.end(), [](int64_t extent) { return extent != 1; }));
    for (const size_t s : inside) {
      const auto c = contraction_of(workload.stages[s]);
      if (c && leading > c->outer.size() + c->rows.size()) fits = false;
    }
    if (!fits) continue;
    loops[l] = {element_count(shared), at + 1, {between.begin(), between.end()}};
    for (const size_t s : inside) loop_of[s] = static_cast<int>(l);
  }
  return loop_of;
}

}  // namespace aoe
