#include "loop/nest.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "expr/rewrite.h"
#include "expr/text.h"

namespace aoe {
namespace {

// Size of a row, rounded up so that the next one begins at a cache line.
int64_t padded_bytes(const NestBuffer& buffer) {
  return ceil_div(element_count(buffer.shape) * info(buffer.dtype).bytes, kCacheLine) * kCacheLine;
}

std::string annotation(const Loop& loop, size_t axis) {
  const LoopPolicy& policy = loop.policy;
  const auto which = static_cast<int>(axis);
  if (which == policy.vector_axis) {
    return fmt::format(" vectors of {}{}", policy.lanes,
                       policy.unroll > 1 ? fmt::format(" x {}", policy.unroll) : "");
  }
  if (which == policy.block_axis) return fmt::format(" blocks of {}", policy.block);
  return "";
}

}  // namespace

NestBuffer buffer_over(const Workload& workload, int64_t value) {
  const TensorType& type = workload.type_of(value);
  return {type.dtype, type.shape, workload.storage(static_cast<int>(value)), false};
}

bool Loop::sums_float_products() const {
  const DType dtype = elements[0].dtype();
  return is_sum(*reducer) && elements[0]->op == ExprOp::mul &&
         (dtype == DType::f32 || dtype == DType::f64);
}

bool Loop::ignores_outside(const Expr& load) const {
  if (!has_out_of_range_value(load) || !load->operands.back().is_constant()) return false;
  const double outside = load->operands.back()->number;
  if (&*elements[0] == &*load) return outside == reducer->identity[0]->number;
  if (!is_sum(*reducer) || elements[0]->op != ExprOp::mul || outside != 0) return false;
  const std::vector<Expr>& factors = elements[0]->operands;
  return std::count_if(factors.begin(), factors.end(),
                       [&](const Expr& e) { return &*e == &*load; }) == 1;
}

void Loop::for_each_store(const std::function<void(NestStore&)>& visit) {
  for (NestStore& store : stores) visit(store);
  for (Kept& one : kept) visit(one.store);
}

void Loop::for_each_expr(const std::function<void(Expr&)>& visit) {
  for (Expr& expr : elements) visit(expr);
  for (Expr& expr : results) visit(expr);
  for (Kept& one : kept) visit(one.value);
  for_each_store([&](NestStore& store) { visit(store.offset); });
}

void Loop::substitute(const std::vector<Expr>& to) {
  Rewriter rewritten = axes_rewriter(to);
  for_each_expr([&](Expr& expr) { expr = rewritten(expr); });
}

void Loop::split(size_t axis, int64_t block) {
  const Expr position = Expr::axis(axis) * block + Expr::axis(axis + 1);
  substitute(moved_axes(extents.size(), axis, position, 1));
  extents[axis] /= block;
  extents.insert(extents.begin() + static_cast<int64_t>(axis) + 1, block);
  if (axis < out_rank) ++out_rank;
}

void Loop::narrow(size_t axis, int64_t first, int64_t extent) {
  substitute(moved_axes(extents.size(), axis, Expr::axis(axis) + first, 0));
  extents[axis] = extent;
}

std::vector<Expr> Loop::values() const {
  std::vector<Expr> all = elements;
  all.insert(all.end(), results.begin(), results.end());
  return all;
}

Loop plain_loop(Shape extents, std::vector<Expr> results, std::vector<NestStore> stores) {
  Loop loop;
  loop.out_rank = extents.size();
  loop.extents = std::move(extents);
  loop.results = std::move(results);
  loop.stores = std::move(stores);
  return loop;
}

Expr without_repeated_division(const Expr& result, int axis) {
  if (result->op != ExprOp::div || result.dtype() != DType::f32 || axis < 0 ||
      depends_on_axis(result->operands[1], axis) ||
      any_node(result->operands[1], [](const Expr& e) { return e->op == ExprOp::arg; })) {
    return result;
  }
  // Above 2^126 the inverse is denormal, and flushed to zero: both are scaled down well before.
  const Expr& divisor = result->operands[1];
  const Expr scale =
      select(lt(0x1p100, abs(divisor)), number_like(divisor, 0x1p-64), number_like(divisor, 1.0));
  return (result->operands[0] * scale) * (1 / (divisor * scale));
}

void for_each_value(const std::vector<Expr>& exprs, const std::function<void(const Expr&)>& visit) {
  std::set<const Expr::Node*> seen;
  const std::function<void(const Expr&)> visit_node = [&](const Expr& e) {
    if (!seen.insert(&*e).second) return;
    visit(e);
    const size_t first = e->op == ExprOp::load ? static_cast<size_t>(e->rank) : 0;
    for (size_t i = first; i < e->operands.size(); ++i) visit_node(e->operands[i]);
  };
  for (const Expr& expr : exprs) visit_node(expr);
}

size_t Nest::memory_of(size_t buffer) const {
  for (size_t i = 0; i < buffer; ++i) {
    if (buffers[i].value >= 0 && buffers[i].value == buffers[buffer].value) return i;
  }
  return buffer;
}

int64_t Nest::row_buffer_offset(size_t buffer) const {
  int64_t offset = 0;
  const size_t last = buffer < buffers.size() ? memory_of(buffer) : buffer;
  for (size_t i = 0; i < last; ++i) {
    if (buffers[i].row && memory_of(i) == i) offset += padded_bytes(buffers[i]);
  }
  return offset;
}

int64_t Nest::row_bytes() const {
  // Slack, because loads of whole vectors may read past the end of a row: at most 64 elements of 8
  // bytes.
  constexpr int64_t kVector = 512;
  const int64_t rows = row_buffer_offset(buffers.size());
  return rows == 0 ? 0 : rows + kVector;
}

std::string to_string(const Nest& nest) {
  std::string text;
  for (size_t i = 0; i < nest.buffers.size(); ++i) {
    const NestBuffer& buffer = nest.buffers[i];
    const size_t memory = nest.memory_of(i);
    text += fmt::format("{} %{} {}[{}]{}\n", buffer.row ? "row" : "buffer", i,
                        info(buffer.dtype).brief, fmt::join(buffer.shape, ","),
                        memory == i ? "" : fmt::format(" over %{}", memory));
  }
  std::string margin;
  const auto line = [&](const std::string& words) { text += margin + words + "\n"; };
  const auto axis_line = [&](size_t axis, size_t out_rank, int64_t extent, const std::string& kind,
                             const std::string& note) {
    line(fmt::format("{} {} < {}{}", kind, axis_name(static_cast<int64_t>(axis), out_rank), extent,
                     note));
    margin += "  ";
  };
  for (size_t i = 0; i < nest.outer.size(); ++i) {
    axis_line(i, nest.outer.size(), nest.outer[i], "parallel", "");
  }
  const std::string inside = margin;
  for (const Loop& loop : nest.loops) {
    margin = inside;
    if (loop.once) line("once");
    for (size_t i = nest.outer.size(); i < loop.extents.size(); ++i) {
      const bool ranged = nest.ranged_axis == static_cast<int>(i);
      axis_line(i, loop.out_rank, loop.extents[i], loop.is_reduced(i) ? "reduce" : "for",
                annotation(loop, i) + (ranged ? " in a range" : ""));
    }
    const auto store_line = [&](const NestStore& store, const std::string& value, bool streaming) {
      line(fmt::format("%{}[{}] = {}{}", store.buffer, to_string(store.offset, loop.out_rank),
                       value, streaming ? " past the caches" : ""));
    };
    for (const Loop::Kept& kept : loop.kept) {
      store_line(kept.store, to_string(kept.value, loop.out_rank), false);
    }
    if (loop.reducer) {
      std::vector<std::string> elements;
      for (const Expr& element : loop.elements) {
        elements.push_back(to_string(element, loop.out_rank));
      }
      line(fmt::format("{} {}", to_string(*loop.reducer), fmt::join(elements, "; ")));
      margin.resize(inside.size() + 2 * (loop.out_rank - nest.outer.size()));
    }
    for (size_t i = 0; i < loop.stores.size(); ++i) {
      store_line(loop.stores[i], to_string(loop.results[i], loop.out_rank), loop.policy.streaming);
    }
  }
  return text;
}

}  // namespace aoe
