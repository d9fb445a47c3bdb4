#include "loop/copied_windows.h"

#include <algorithm>
#include <map>

#include "device/machine_model.h"
#include "expr/affine.h"
#include "expr/rewrite.h"
#include "loop/lower.h"
#include "loop/split_at_edges.h"

// Windows with a stride (pooling and convolutions that step by 2 to 4), made plain by a copy: an
// im2col of one row at a time that separates the phases of the stride and repeats no element. For
// step 2 and a window of three taps:
//
//   source line     a0 a1 a2 a3 a4 a5 a6 a7 ...     output x reads a[2x], a[2x + 1], a[2x + 2]
//
//   row, phase 0    a0 a2 a4 a6 ...                 tap 0: phase 0 at x, tap 2: at x + 1
//        phase 1    a1 a3 a5 a7 ...                 tap 1: phase 1 at x
//
// so that every tap is a contiguous load along x. In general position x * step + rest of the source
// is row[rest mod step][x + rest / step]. With padding a line of the row is
//
//   | outside ... | source elements of one phase ... | outside ... |
//   ^ cache line  ^ cache line
//
// The resulting nest has three kinds of loops for each outer point:
//   fill    writes the padding; runs once, since copies never touch it         row_of
//   copy    all phases of a line in one loop, since they read the same memory  add_copy
//   plain   the given loop, with loads of the row                              with_rows
//
// In reading order: lower and lower_strips choose the outer axes, window_loads and aligned_axes
// determine which loads qualify, row_of makes the row of one load.
//
// Invariant: a row holds every element that the windows of one outer point read, so outer points
// stay independent and threads can divide them; a row is private to a thread.

namespace aoe {
namespace {

// Most taps of a window, 8 x 8: larger ones spend their time in the reduction, not in strided
// loads.
constexpr int64_t kLargestWindow = 64;
// Fewest rows of a strip: below this the halo is about as large as the rest of the copy.
constexpr int64_t kLeastRows = 4;

// Returns the linear form as an expression, without the axis `left_out`.
Expr without_axis(const Affine& form, size_t left_out) {
  Expr sum = Expr::position(form.constant);
  for (size_t i = 0; i < form.coefficients.size(); ++i) {
    if (i != left_out && form.coefficients[i] != 0)
      sum = sum + Expr::axis(i) * form.coefficients[i];
  }
  return sum;
}

class WindowLowering {
 public:
  WindowLowering(const std::vector<NestBuffer>& buffers, Loop loop) : loop_(std::move(loop)) {
    nest_.buffers = buffers;
  }

  std::optional<Nest> lower() {
    if (!loop_.reducer || loop_.out_rank < 2) return std::nullopt;
    const int64_t count = element_count(tail(loop_.extents, loop_.out_rank));
    if (count < 2 || count > kLargestWindow || element_count(loop_.extents) == 0) {
      return std::nullopt;
    }
    std::vector<Expr> loads = window_loads();
    if (loads.empty()) return std::nullopt;
    aligned_ = loop_.out_rank - 1;
    for (const Expr& load : loads) aligned_ = std::min(aligned_, aligned_axes(load));
    if (aligned_ == 0) return std::nullopt;
    outer_ = aligned_;
    // Following axes of extent 1 cost nothing as outer axes, and cut_into_strips splits the first
    // axis behind the outer ones.
    while (outer_ + 1 < loop_.out_rank && loop_.extents[outer_] == 1) ++outer_;
    if (cut_into_strips(loads)) loads = window_loads();
    return with_rows(loads);
  }

  // The points of the axis `strip` are the strips. A row starts where its strip does, so positions
  // in the row do not depend on the strip.
  std::optional<Nest> lower_strips(size_t strip) {
    const std::vector<Expr> loads = window_loads();
    if (loads.empty() || element_count(loop_.extents) == 0) return std::nullopt;
    const bool others = any_node(loop_.results[0], [&](const Expr& e) {
      const auto same = [&](const Expr& load) { return &*load == &*e; };
      const bool leaves = e->op == ExprOp::load && has_out_of_range_value(e);
      return leaves && std::none_of(loads.begin(), loads.end(), same);
    });
    if (others) return std::nullopt;
    aligned_ = strip;
    for (const Expr& load : loads) {
      if (aligned_axes(load) != strip) return std::nullopt;
    }
    strip_ = strip;
    outer_ = strip + 1;
    return with_rows(loads);
  }

 private:
  std::optional<Nest> with_rows(const std::vector<Expr>& loads) {
    nest_.outer = head(loop_.extents, outer_);
    std::map<const Expr::Node*, Expr> rows;
    for (const Expr& load : loads) {
      const std::optional<Expr> row = row_of(load);
      if (!row) return std::nullopt;
      rows.emplace(&*load, *row);
    }
    Loop plain = loop_;
    for (Expr& expr : plain.reducer ? plain.elements : plain.results) {
      expr = rewrite(expr, [&](const Expr& e) {
        const auto row = rows.find(&*e);
        return row != rows.end() ? row->second : Expr{};
      });
    }
    add(std::move(plain));
    return std::move(nest_);
  }

  // If the windows of an outer point read more than kWindowStrip bytes, splits the axis behind the
  // outer ones into strips: the largest divisor of its extent that stays below. Copying and
  // reducing then alternate while the row is in the first-level cache:
  //
  //   output rows     | strip 0 | strip 1 | strip 2 |
  //   source rows   [-----------]                      neighbouring strips both copy the halo
  //                           [-----------]
  //                                     [-----------]
  bool cut_into_strips(const std::vector<Expr>& loads) {
    if (outer_ + 1 >= loop_.out_rank) return false;
    int64_t bytes = 0;
    for (const Expr& load : loads) {
      bytes += element_count(tail(shape_of(load), aligned_)) * info(load.dtype()).bytes;
    }
    const int64_t extent = loop_.extents[outer_];
    int64_t rows = extent;
    while (rows > 1 && (extent % rows != 0 || bytes * rows / extent > machine::kWindowStrip))
      --rows;
    if (rows == extent || rows < kLeastRows) return false;
    loop_.split(outer_, rows);
    strip_ = outer_++;
    return true;
  }

  void add(Loop loop) { nest_.loops.push_back(lower_loop(nest_.buffers, std::move(loop), outer_)); }

  const Shape& shape_of(const Expr& load) const {
    return nest_.buffers[static_cast<size_t>(load->id)].shape;
  }

  // The stride of the last output axis, the vector axis, in the load's last dimension; 0 if it is
  // not affine.
  int64_t step_of(const Expr& load) const {
    const auto form =
        affine_of(load->operands[static_cast<size_t>(load->rank) - 1], loop_.extents.size());
    return form ? form->coefficients[loop_.out_rank - 1] : 0;
  }

  std::vector<Expr> window_loads() const {
    std::vector<Expr> loads;
    for (const Expr& element : loop_.reducer ? loop_.elements : loop_.results) {
      for_each_node(element, [&](const Expr& e) {
        if (e->op != ExprOp::load || e->rank < 2) return;
        const int64_t step = step_of(e);
        if (step > 1 && step <= machine::kLargestDeinterleavedStride) loads.push_back(e);
      });
    }
    return loads;
  }

  // The number of leading axes that index the load's leading dimensions one to one: batch and
  // channels, where every outer point reads a separate image.
  size_t aligned_axes(const Expr& load) const {
    size_t axes = 0;
    const Shape& shape = shape_of(load);
    while (axes + 1 < shape.size() && axes < loop_.out_rank) {
      const int64_t extent = loop_.extents[axes];
      if (!follows_axis(load->operands[axes], axes, extent) || shape[axes] != extent) break;
      ++axes;
    }
    return axes;
  }

  // Adds the row of a load, with the loops that fill it. Returns the load of the row that replaces
  // it; nothing if positions are not affine, or the row would be too large.
  std::optional<Expr> row_of(const Expr& load) {
    const Shape& shape = shape_of(load);
    const Expr outside =
        has_out_of_range_value(load) ? load->operands.back() : Expr::integer(load.dtype(), 0);
    if (!outside.is_constant()) return std::nullopt;
    const size_t vector = loop_.out_rank - 1;
    const int64_t line = std::max<int64_t>(1, kCacheLine / info(load.dtype()).bytes);
    Shape row;
    // `from` indexes the source over the axes of the copy, `index` the row over those of the loop.
    std::vector<Expr> from = axes_from(0, aligned_);
    std::vector<Expr> index;
    for (size_t d = aligned_; d < shape.size(); ++d) {
      auto form = affine_of(load->operands[d], loop_.extents.size());
      if (!form) return std::nullopt;
      for (size_t i = 0; i < aligned_; ++i) {
        if (form->coefficients[i] != 0 && loop_.extents[i] != 1) return std::nullopt;
      }
      // Positions in the row are relative to where the strip begins in the source.
      Expr start = Expr::position(0);
      if (strip_) {
        start = Expr::axis(*strip_) * form->coefficients[*strip_];
        form->coefficients[*strip_] = 0;
      }
      const Expr position = without_axis(*form, loop_.extents.size());
      const auto range = interval_of(position, loop_.extents);
      if (!range) return std::nullopt;
      const size_t first_axis = outer_ + row.size();
      if (d + 1 == shape.size()) {
        const int64_t step = step_of(load);
        // The last dimension becomes [phase][position]. `before` is added to positions, so that
        // none is negative: with padding, a multiple of step x cache line, so that the source's
        // first element begins a cache line in the row; without, minus the first position read.
        const int64_t before =
            range->low < 0 ? ceil_div(-range->low, step * line) * step * line : -range->low;
        Affine moved = *form;
        moved.constant += before;
        const Expr rest = without_axis(moved, vector);
        const auto rest_range = interval_of(rest, loop_.extents);
        if (!rest_range || rest_range->low < 0) return std::nullopt;
        index.push_back(mod(rest, step));
        index.push_back(Expr::axis(vector) + rest / step);
        row.push_back(step);
        row.push_back(loop_.extents[vector] + rest_range->high / step);
        from.push_back(start + Expr::axis(first_axis) + Expr::axis(first_axis + 1) * step - before);
      } else {
        index.push_back(position - range->low);
        row.push_back(range->high - range->low + 1);
        from.push_back(start + Expr::axis(first_axis) + range->low);
      }
    }
    // Whole cache lines, so that every line of the row begins at one.
    row.back() = ceil_div(row.back(), line) * line;
    const int64_t bytes = element_count(row) * info(load.dtype()).bytes;
    if (bytes > machine::kLargestRow) return std::nullopt;
    const int buffer = static_cast<int>(nest_.buffers.size());
    nest_.buffers.push_back({load.dtype(), row, -1, true});
    // Padding is written once per call: copies never touch elements that are padding for every
    // outer point.
    Loop fill = loop_over(buffer, row, outside);
    fill.once = true;
    add(std::move(fill));
    add_copy(buffer, row, Expr::load(load->id, load.dtype(), from, outside));
    return Expr::load(buffer, load.dtype(), index);
  }

  Loop loop_over(int buffer, const Shape& row, const Expr& result) const {
    Shape extents = nest_.outer;
    extents.insert(extents.end(), row.begin(), row.end());
    return plain_loop(extents, {result}, {{buffer, offset_of(axes_from(outer_, row.size()), row)}});
  }

  // Adds the loops that copy the source, split at its edges, so that parts inside it load without
  // checks; parts that are only padding are dropped.
  void add_copy(int buffer, const Shape& row, const Expr& source) {
    std::vector<Loop> copies;
    for (Loop& part : parts_of(nest_.buffers, loop_over(buffer, row, source), outer_)) {
      if (part.results[0]->op != ExprOp::load) continue;
      // Phases of equal extents become one loop with several results, in the order of their first
      // elements: codegen then reads the line once and deinterleaves it (read_interleaved).
      if (copies.empty() || copies.back().extents != part.extents) {
        copies.push_back(std::move(part));
        continue;
      }
      Loop& copy = copies.back();
      const auto before =
          std::count_if(copy.results.begin(), copy.results.end(), [&](const Expr& load) {
            return first_position(load, copy) < first_position(part.results[0], part);
          });
      copy.results.insert(copy.results.begin() + before, part.results[0]);
      copy.stores.insert(copy.stores.begin() + before, part.stores[0]);
    }
    for (Loop& copy : copies) add(std::move(copy));
  }

  // The position in the source's last dimension at which a copy begins.
  static int64_t first_position(const Expr& load, const Loop& copy) {
    const Expr& last = load->operands[static_cast<size_t>(load->rank) - 1];
    return affine_of(last, copy.extents.size())->constant;
  }

  Loop loop_;
  size_t aligned_ = 0;  // leading axes that index the loads' leading dimensions one to one
  size_t outer_ = 0;
  std::optional<size_t> strip_;  // the outer axis that counts strips of windows
  Nest nest_;
};

}  // namespace

std::optional<Nest> copy_windows(const std::vector<NestBuffer>& buffers, const Loop& loop) {
  return WindowLowering(buffers, loop).lower();
}

std::optional<Nest> copy_windows_by_strips(const std::vector<NestBuffer>& buffers, const Loop& loop,
                                           size_t strip) {
  return WindowLowering(buffers, loop).lower_strips(strip);
}

}  // namespace aoe
