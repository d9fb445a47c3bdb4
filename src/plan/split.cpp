#include "plan/split.h"

#include <algorithm>

#include "expr/affine.h"
#include "expr/rewrite.h"

namespace aoe {
namespace {

// A position = blocks * block + rest, with 0 <= rest < block.
struct Divided {
  Expr blocks;
  Expr rest;
};

Expr sum_of(const Affine& form) {
  Expr sum = Expr::integer(DType::i64, 0);
  for (size_t i = 0; i < form.coefficients.size(); ++i) {
    if (form.coefficients[i] != 0) {
      sum = sum + Expr::axis(static_cast<int64_t>(i)) * form.coefficients[i];
    }
  }
  if (form.constant < 0) return sum - (-form.constant);
  return sum + form.constant;
}

// Divides a position by the block size. Returns nullopt unless each axis either steps by whole
// blocks or stays inside one.
std::optional<Divided> divided(const Affine& form, const Shape& extents, int64_t block) {
  Affine blocks{floor_div(form.constant, block), std::vector<int64_t>(extents.size())};
  Affine rest{form.constant - blocks.constant * block, std::vector<int64_t>(extents.size())};
  for (size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] == 1) continue;
    const int64_t c = form.coefficients[i];
    if (c % block == 0) blocks.coefficients[i] = c / block;
    else rest.coefficients[i] = c;
  }
  const Expr position = sum_of(rest);
  const auto range = interval_of(position, extents);
  if (!range || !range->within({0, block - 1})) return std::nullopt;
  return Divided{sum_of(blocks), position};
}

// The axis that has to be split so that `divided` succeeds; nullopt if splitting one axis is not
// enough.
std::optional<size_t> axis_to_split(const Affine& form, const Shape& extents, int64_t block) {
  std::optional<size_t> found;
  for (size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] == 1 || form.coefficients[i] % block == 0) continue;
    if (found || form.coefficients[i] != 1 || extents[i] <= block || extents[i] % block != 0) {
      return std::nullopt;
    }
    found = i;
  }
  return found;
}

// Rewrites comparisons of positions whose outcome is the same for a whole block into comparisons of
// block numbers. Loops are split where the outcome of a comparison changes (loop/split_at_edges.h),
// but only if it depends on a single axis.
Expr by_blocks(const Expr& expr, const Shape& extents, int64_t block) {
  return rewrite(expr, [&](const Expr& e) -> Expr {
    if ((e->op != ExprOp::lt && e->op != ExprOp::le) || e->operands[0].dtype() != DType::i64) {
      return {};
    }
    const Expr difference = e->operands[0] - e->operands[1] - (e->op == ExprOp::le ? 1 : 0);
    const auto form = affine_of(difference, extents.size());
    const auto parts = form ? divided(*form, extents, block) : std::nullopt;
    if (!parts || parts->rest.is_constant()) return {};
    Affine blocks = *affine_of(parts->blocks, extents.size());
    const int64_t bound = -blocks.constant;
    blocks.constant = 0;
    return lt(sum_of(blocks), bound);
  });
}

// Splits one loop of a stage in two. The caller has to split the values that the stage computes.
void split_loop(Stage& stage, size_t axis, int64_t block) {
  const std::vector<Expr> to =
      moved_axes(stage.extents().size(), axis, Expr::axis(axis) * block + Expr::axis(axis + 1), 1);
  const size_t out = stage.axes.size();
  if (axis < out) stage.axes = split(stage.axes, axis, block);
  else stage.reduce_axes = split(stage.reduce_axes, axis - out, block);
  const Shape extents = stage.extents();
  for (std::vector<Expr>* exprs : {&stage.elements, &stage.results}) {
    for (Expr& expr : *exprs) expr = by_blocks(with_axes(expr, to), extents, block);
  }
}

std::vector<Expr> loads_of(const Stage& stage, int value) {
  std::vector<Expr> loads;
  for_each_load(stage, [&](const Expr& load) {
    if (load->id == value) loads.push_back(load);
  });
  return loads;
}

// Splits the loops of a stage until every load of the value can be divided.
bool make_divisible(Workload& workload, size_t s, int value, size_t dim, int64_t block) {
  for (bool changed = true; changed;) {
    changed = false;
    const Stage& stage = workload.stages[s];
    const Shape extents = stage.extents();
    for (const Expr& load : loads_of(stage, value)) {
      const auto form = affine_of(load->operands[dim], extents.size());
      if (!form) return false;
      if (divided(*form, extents, block)) continue;
      const auto axis = axis_to_split(*form, extents, block);
      if (!axis) return false;
      if (*axis >= stage.axes.size()) split_loop(workload.stages[s], *axis, block);
      else split_axis(workload, s, *axis, block);
      changed = true;
      break;
    }
  }
  return true;
}

// Adds a view of a value: the same elements in another shape.
int add_view(Workload& workload, int value, Shape shape) {
  const DType dtype = workload.values[static_cast<size_t>(value)].type.dtype;
  workload.values.push_back({.type = {dtype, std::move(shape)}, .view_of = value});
  return static_cast<int>(workload.values.size()) - 1;
}

// Replaces all loads of value `from` by loads of value `to`, which has the same shape.
void redirect_loads(Workload& workload, int from, int to) {
  const std::function<Expr(const Expr&)> replace = [&](const Expr& e) -> Expr {
    if (e->op != ExprOp::load || e->id != from) return {};
    Expr::Node load = *e;
    load.id = to;
    for (Expr& operand : load.operands) operand = rewrite(operand, replace);
    return Expr(std::move(load));
  };
  for (Stage& stage : workload.stages) {
    for (Expr& expr : stage.elements) expr = rewrite(expr, replace);
    for (Expr& expr : stage.results) expr = rewrite(expr, replace);
  }
}

}  // namespace

Shape split(Shape shape, size_t dim, int64_t block) {
  shape[dim] /= block;
  shape.insert(shape.begin() + static_cast<int64_t>(dim) + 1, block);
  return shape;
}

bool split_value(Workload& workload, int value, size_t dim, int64_t block) {
  for (size_t s = 0; s < workload.stages.size(); ++s) {
    if (!make_divisible(workload, s, value, dim, block)) return false;
    Stage& stage = workload.stages[s];
    const Shape extents = stage.extents();
    const std::function<Expr(const Expr&)> replace = [&](const Expr& e) -> Expr {
      if (e->op != ExprOp::load || e->id != value) return {};
      Expr::Node load = *e;
      for (Expr& operand : load.operands) operand = rewrite(operand, replace);
      const auto parts = divided(*affine_of(e->operands[dim], extents.size()), extents, block);
      const auto at = load.operands.begin() + static_cast<int64_t>(dim);
      *at = parts->blocks;
      load.operands.insert(at + 1, parts->rest);
      ++load.rank;
      return Expr(std::move(load));
    };
    for (Expr& expr : stage.elements) expr = rewrite(expr, replace);
    for (Expr& expr : stage.results) expr = rewrite(expr, replace);
  }
  const Shape shape = workload.values[static_cast<size_t>(value)].type.shape;
  workload.values[static_cast<size_t>(value)].type.shape = split(shape, dim, block);
  for (int& output : workload.outputs) {
    if (output == value) output = add_view(workload, value, shape);
  }
  return true;
}

void split_axis(Workload& workload, size_t stage, size_t axis, int64_t block) {
  const Shape shape = workload.stages[stage].axes;
  const std::vector<int> made = workload.stages[stage].outputs;
  split_loop(workload.stages[stage], axis, block);
  for (const int value : made) {
    Workload whole = workload;
    if (split_value(whole, value, axis, block)) {
      workload = std::move(whole);
      continue;
    }
    // Some load would need a division: all loads of the value read a view in the old shape.
    redirect_loads(workload, value, add_view(workload, value, shape));
    split_value(workload, value, axis, block);
  }
}

}  // namespace aoe
