#include "policy/window.h"

#include <algorithm>

#include "expr/affine.h"
#include "expr/rewrite.h"
#include "policy/lower.h"
#include "policy/parts.h"

namespace aoe {
namespace {

constexpr int64_t kLargestWindow = 64;
constexpr int64_t kLargestStep = 4;
// Bytes of the source in a strip: so few that copying and reducing take turns often and memory is
// never waited for long, but not so few that strips repeat too much of their neighbours.
constexpr int64_t kComfortableRow = 6 << 10;
constexpr int64_t kLeastRows = 4;
// A row is read several times: at least the second-level cache should hold it.
constexpr int64_t kLargestRow = 256 << 10;

Expr axis(size_t which) { return Expr::axis(static_cast<int64_t>(which)); }
Expr number(int64_t value) { return Expr::integer(DType::i64, value); }

// The linear form as an expression, without one of its axes.
Expr without_axis(const Affine& form, size_t left_out) {
  Expr sum = number(form.constant);
  for (size_t i = 0; i < form.coefficients.size(); ++i) {
    if (i != left_out && form.coefficients[i] != 0) sum = sum + axis(i) * form.coefficients[i];
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
    const Shape taps(loop_.extents.begin() + static_cast<int64_t>(loop_.out_rank),
                     loop_.extents.end());
    const int64_t count = element_count(taps);
    if (count < 2 || count > kLargestWindow || element_count(loop_.extents) == 0) {
      return std::nullopt;
    }
    std::vector<Expr> loads = window_loads();
    if (loads.empty()) return std::nullopt;
    aligned_ = loop_.out_rank - 1;
    for (const Expr& load : loads) aligned_ = std::min(aligned_, aligned_axes(load));
    if (aligned_ == 0) return std::nullopt;
    outer_ = aligned_;
    // What comes next may be an axis of one position: no more than the others.
    while (outer_ + 1 < loop_.out_rank && loop_.extents[outer_] == 1) ++outer_;
    if (cut_into_strips(loads)) loads = window_loads();
    return with_rows(loads);
  }

  std::optional<Nest> lower_strips(size_t strip) {
    const std::vector<Expr> loads = window_loads();
    if (loads.empty() || element_count(loop_.extents) == 0) return std::nullopt;
    bool others = false;
    for_each_node(loop_.results[0], [&](const Expr& e) {
      const auto same = [&](const Expr& load) { return &*load == &*e; };
      const bool leaves = e->op == ExprOp::load && has_outside(e);
      others = others || (leaves && std::none_of(loads.begin(), loads.end(), same));
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
    nest_.outer.assign(loop_.extents.begin(), loop_.extents.begin() + static_cast<int64_t>(outer_));
    std::vector<std::pair<Expr, Expr>> replaced;
    for (const Expr& load : loads) {
      const std::optional<Expr> row = row_of(load);
      if (!row) return std::nullopt;
      replaced.emplace_back(load, *row);
    }
    Loop plain = loop_;
    for (Expr& expr : plain.reducer ? plain.elements : plain.results) {
      expr = rewrite(expr, [&](const Expr& e) -> Expr {
        for (const auto& [from, to] : replaced) {
          if (&*from == &*e) return to;
        }
        return {};
      });
    }
    add(std::move(plain));
    return std::move(nest_);
  }

  // Where all that the windows of an outer point see is more than the first-level cache holds, they
  // are taken in strips.
  bool cut_into_strips(const std::vector<Expr>& loads) {
    if (outer_ + 1 >= loop_.out_rank) return false;
    int64_t bytes = 0;
    for (const Expr& load : loads) {
      const Shape& shape = shape_of(load);
      bytes += element_count({shape.begin() + static_cast<int64_t>(aligned_), shape.end()}) *
               info(load.dtype()).bytes;
    }
    const int64_t extent = loop_.extents[outer_];
    int64_t rows = extent;
    while (rows > 1 && (extent % rows != 0 || bytes * rows / extent > kComfortableRow)) --rows;
    if (rows == extent || rows < kLeastRows) return false;
    std::vector<Expr> to;
    for (size_t i = 0; i < loop_.extents.size(); ++i) {
      if (i == outer_) to.push_back(axis(i) * rows + axis(i + 1));
      else to.push_back(axis(i < outer_ ? i : i + 1));
    }
    for (Expr& element : loop_.elements) element = with_axes(element, to);
    for (Expr& result : loop_.results) result = with_axes(result, to);
    for (NestStore& store : loop_.stores) store.offset = with_axes(store.offset, to);
    loop_.extents[outer_] = rows;
    loop_.extents.insert(loop_.extents.begin() + static_cast<int64_t>(outer_), extent / rows);
    ++loop_.out_rank;
    strip_ = outer_++;
    return true;
  }

  void add(Loop loop) {
    size_t kept = ~size_t{0};
    nest_.loops.push_back(lower_loop(nest_.buffers, std::move(loop), outer_, kept));
  }

  const Shape& shape_of(const Expr& load) const {
    return nest_.buffers[static_cast<size_t>(load->id)].shape;
  }

  // How far neighbours of the last output axis, which vectors go along, lie apart in the load's
  // last dimension.
  int64_t step_of(const Expr& load) const {
    if (load->rank == 0) return 0;
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
        if (step > 1 && step <= kLargestStep) loads.push_back(e);
      });
    }
    return loads;
  }

  // Leading axes that are the load's leading dimensions.
  size_t aligned_axes(const Expr& load) const {
    size_t axes = 0;
    const Shape& shape = shape_of(load);
    while (axes + 1 < shape.size() && axes < loop_.out_rank) {
      const Expr& index = load->operands[axes];
      const bool same = index->op == ExprOp::axis && index->id == static_cast<int64_t>(axes);
      const bool single = loop_.extents[axes] == 1 && index.is_integer(0);
      if (!(same || single) || shape[axes] != loop_.extents[axes]) break;
      ++axes;
    }
    return axes;
  }

  // Makes the row that a load reads instead; gives that load, or nothing.
  std::optional<Expr> row_of(const Expr& load) {
    const Shape& shape = shape_of(load);
    const Expr outside = has_outside(load) ? load->operands.back() : Expr::integer(load.dtype(), 0);
    if (!outside.is_constant()) return std::nullopt;
    const size_t vector = loop_.out_rank - 1;
    const int64_t line = std::max<int64_t>(1, kCacheLine / info(load.dtype()).bytes);
    Shape row;
    std::vector<Expr> from;   // index of the source, over the copy's axes
    std::vector<Expr> index;  // index of the row, over the loop's axes
    for (size_t d = 0; d < aligned_; ++d) from.push_back(axis(d));
    for (size_t d = aligned_; d < shape.size(); ++d) {
      auto form = affine_of(load->operands[d], loop_.extents.size());
      if (!form) return std::nullopt;
      for (size_t i = 0; i < aligned_; ++i) {
        if (form->coefficients[i] != 0 && loop_.extents[i] != 1) return std::nullopt;
      }
      // A row counts from where its strip begins.
      Expr start = number(0);
      if (strip_) {
        start = axis(*strip_) * form->coefficients[*strip_];
        form->coefficients[*strip_] = 0;
      }
      const Expr position = without_axis(*form, loop_.extents.size());
      const auto range = interval_of(position, loop_.extents);
      if (!range) return std::nullopt;
      const int64_t step = d + 1 == shape.size() ? step_of(load) : 1;
      const size_t first_axis = outer_ + row.size();
      if (step > 1 && step <= kLargestStep) {
        // Elements a step apart lie side by side: first those of every position's remainder. Where
        // some lie outside, the source's first one begins a cache line.
        const int64_t before =
            range->low < 0 ? ceil_div(-range->low, step * line) * step * line : -range->low;
        Affine moved = *form;
        moved.constant += before;
        const Expr rest = without_axis(moved, vector);
        const auto rest_range = interval_of(rest, loop_.extents);
        if (!rest_range || rest_range->low < 0) return std::nullopt;
        index.push_back(mod(rest, step));
        index.push_back(axis(vector) + rest / step);
        row.push_back(step);
        row.push_back(loop_.extents[vector] + rest_range->high / step);
        from.push_back(start + axis(first_axis) + axis(first_axis + 1) * step - before);
      } else {
        index.push_back(position - range->low);
        row.push_back(range->high - range->low + 1);
        from.push_back(start + axis(first_axis) + range->low);
      }
    }
    // Lines of the row begin at cache lines.
    row.back() = ceil_div(row.back(), line) * line;
    const int64_t bytes = element_count(row) * info(load.dtype()).bytes;
    if (bytes > kLargestRow) return std::nullopt;
    const int buffer = static_cast<int>(nest_.buffers.size());
    nest_.buffers.push_back({load.dtype(), row, -1, true});
    add_fill(buffer, row, outside);
    add_copy(buffer, row, Expr::load(load->id, load.dtype(), from, outside));
    return Expr::load(buffer, load.dtype(), index);
  }

  Loop loop_over(int buffer, const Shape& row, const Expr& result) const {
    Loop loop;
    loop.extents = nest_.outer;
    Expr offset = number(0);
    const Shape strides = row_major_strides(row);
    for (size_t d = 0; d < row.size(); ++d) {
      offset = offset + axis(outer_ + d) * strides[d];
      loop.extents.push_back(row[d]);
    }
    loop.out_rank = loop.extents.size();
    loop.results = {result};
    loop.stores = {{buffer, offset}};
    return loop;
  }

  // What lies outside does so for every outer point: it is written once.
  void add_fill(int buffer, const Shape& row, const Expr& outside) {
    Loop fill = loop_over(buffer, row, outside);
    fill.once = true;
    add(std::move(fill));
  }

  void add_copy(int buffer, const Shape& row, const Expr& source) {
    std::vector<Loop> copies;
    for (Loop& part : parts_of(nest_.buffers, loop_over(buffer, row, source), outer_)) {
      if (part.results[0]->op != ExprOp::load) continue;
      // Elements of all remainders come from the same memory: one loop reads it.
      if (copies.empty() || copies.back().extents != part.extents) {
        copies.push_back(std::move(part));
        continue;
      }
      Loop& copy = copies.back();
      int64_t before = 0;
      for (const Expr& load : copy.results) {
        before += first_position(load, copy) < first_position(part.results[0], part) ? 1 : 0;
      }
      copy.results.insert(copy.results.begin() + before, part.results[0]);
      copy.stores.insert(copy.stores.begin() + before, part.stores[0]);
    }
    for (Loop& copy : copies) add(std::move(copy));
  }

  // Where in a line of its source a copy begins.
  static int64_t first_position(const Expr& load, const Loop& copy) {
    const Expr& last = load->operands[static_cast<size_t>(load->rank) - 1];
    return affine_of(last, copy.extents.size())->constant;
  }

  Loop loop_;
  size_t aligned_ = 0;  // leading axes that are the loads' leading dimensions
  size_t outer_ = 0;
  std::optional<size_t> strip_;  // the outer axis that counts strips of windows
  Nest nest_;
};

}  // namespace

std::optional<Nest> windowed(const std::vector<NestBuffer>& buffers, const Loop& loop) {
  return WindowLowering(buffers, loop).lower();
}

std::optional<Nest> windowed_strips(const std::vector<NestBuffer>& buffers, const Loop& loop,
                                    size_t strip) {
  return WindowLowering(buffers, loop).lower_strips(strip);
}

}  // namespace aoe
