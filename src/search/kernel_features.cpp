#include "search/kernel_features.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "expr/affine.h"
#include "expr/rewrite.h"
#include "policy/validate.h"

// The features of a policy. Row::visit enumerates them: of the whole policy (whole), of its
// heaviest loops (loop) and of its heaviest products (product). Names and values come from the same
// pass, so that they cannot get out of step.
//
// Invariant: the number and the order of features depend on neither workload nor policy. Slots
// without a loop or product are filled with NaN.

namespace aoe {
namespace {

// Number of loops and products with features of their own; all others count in the totals only.
constexpr size_t kLoops = 3;
constexpr size_t kProducts = 2;

double log_of(double value) { return std::log2(std::max(value, 1e-9)); }
double log_of(int64_t value) { return log_of(static_cast<double>(value)); }

// Utilization of blocks that cover an extent: its share of the rounded-up extent.
double used(int64_t extent, int64_t block) {
  const int64_t whole = ceil_div(extent, block) * block;
  return static_cast<double>(extent) / static_cast<double>(whole);
}

struct LoopItem {
  const Nest* nest;
  const NestPolicy* nest_policy;
  const Loop* loop;
  const LoopPolicy* policy;
  double points;
};

struct ProductOfPolicy {
  const ProductItem* item;
  const ProductPolicy* policy;
  double points;
};

// The strides of a loop's loads along an axis, as fractions of the loads: 0, 1, up to 4, or larger
// and unknown.
struct Strides {
  double constant = 0, next = 0, near = 0, far = 0;
};

class Row {
 public:
  Row(const Schedule& schedule, const Policy& policy, const Device& device)
      : schedule_(schedule), policy_(policy), device_(device) {}

  std::vector<float> numbers() {
    visit([&](std::string_view, size_t, double value) {
      numbers_.push_back(static_cast<float>(value));
    });
    return std::move(numbers_);
  }

  // Calls `add` for every feature. `slot`: the number of the loop or product, from 1; 0: the whole
  // policy. Names are the same for an empty schedule and policy.
  using Add = std::function<void(std::string_view name, size_t slot, double value)>;
  void visit(const Add& add) {
    gather();
    whole(add);
    for (size_t i = 0; i < kLoops; ++i) {
      loop(i < loops_.size() ? &loops_[i] : nullptr,
           [&](std::string_view name, double value) { add(name, i + 1, value); });
    }
    for (size_t i = 0; i < kProducts; ++i) {
      product(i < products_.size() ? &products_[i] : nullptr,
              [&](std::string_view name, double value) { add(name, i + 1, value); });
    }
  }

 private:
  using AddOne = std::function<void(std::string_view name, double value)>;

  void gather() {
    for (size_t i = 0; i < schedule_.items.size(); ++i) {
      if (const auto* nest = std::get_if<Nest>(&schedule_.items[i])) {
        const auto& decided = std::get<NestPolicy>(policy_.items[i]);
        for (size_t k = 0; k < nest->loops.size(); ++k) {
          const auto points = static_cast<double>(element_count(nest->loops[k].extents));
          loops_.push_back({nest, &decided, &nest->loops[k], &decided.loops[k], points});
          loop_points_ += points;
        }
      } else {
        const auto& item = std::get<ProductItem>(schedule_.items[i]);
        const ProductShape& s = item.shape;
        const double points = static_cast<double>(s.outer * s.rows) *
                              static_cast<double>(s.columns) * static_cast<double>(s.depth);
        products_.push_back({&item, &std::get<ProductPolicy>(policy_.items[i]), points});
        product_points_ += points;
      }
    }
    // Stable: equal ones stay in the order of the schedule.
    const auto heavier = [](const auto& a, const auto& b) { return a.points > b.points; };
    std::stable_sort(loops_.begin(), loops_.end(), heavier);
    std::stable_sort(products_.begin(), products_.end(), heavier);
  }

  void whole(const Add& add_slot) const {
    const auto add = [&](std::string_view name, double value) { add_slot(name, 0, value); };
    add("operations", log_of(operations_of(schedule_.workload)));
    add("bytes", log_of(bytes_of(schedule_.workload)));
    add("vector bytes", device_.vector_bytes);
    add("vector registers", device_.vector_registers);
    for (const Cache& cache : device_.caches) add("cache bytes", log_of(cache.bytes));
    add("threads", policy_.threads);
    add("items", static_cast<double>(schedule_.items.size()));
    add("loop points", log_of(loop_points_));
    add("product points", log_of(product_points_));
    int rows = 0, root = 0, as_loops = 0, direct = 0, winograd = 0, strassen = 0;
    for (const StagePolicy& stage : policy_.structure.stages) {
      rows += stage.place == Place::rows ? 1 : 0;
      root += stage.place == Place::root ? 1 : 0;
      as_loops += stage.product ? 0 : 1;
      direct += stage.copied ? 0 : 1;
      winograd = std::max(winograd, stage.winograd);
      strassen += stage.strassen ? 1 : 0;
    }
    add("stages kept as rows", rows);
    add("stages in separate nests", root);
    add("contractions as loops", as_loops);
    add("windows not copied", direct);
    add("winograd", winograd);
    add("strassen", strassen);
  }

  Strides strides(const Loop& loop, int axis) const {
    Strides parts;
    double count = 0;
    const auto look = [&](const Expr& e) {
      if (e->op != ExprOp::load) return;
      ++count;
      const auto form =
          e->linear ? affine_of(e->operands[0], loop.extents.size()) : std::optional<Affine>();
      const int64_t stride = form ? form->coefficients[static_cast<size_t>(axis)] : kCacheLine;
      if (stride == 0) ++parts.constant;
      else if (stride == 1) ++parts.next;
      else if (std::abs(stride) <= 4) ++parts.near;
      else ++parts.far;
    };
    for (const Expr& expr : loop.elements) for_each_node(expr, look);
    for (const Expr& expr : loop.results) for_each_node(expr, look);
    for (double* part : {&parts.constant, &parts.next, &parts.near, &parts.far}) {
      *part /= std::max(count, 1.0);
    }
    return parts;
  }

  double store_stride(const Loop& loop, int axis) const {
    if (loop.stores.empty()) return 0;
    const auto form = affine_of(loop.stores[0].offset, loop.extents.size());
    return form ? static_cast<double>(form->coefficients[static_cast<size_t>(axis)]) : 0;
  }

  void loop(const LoopItem* of, const AddOne& add) const {
    const double none = std::numeric_limits<double>::quiet_NaN();
    const auto when = [&](bool there, const auto& value) { return there ? value() : none; };
    const bool is = of != nullptr;
    const bool vectors = is && of->policy->vector_axis >= 0;
    const bool blocks = is && of->policy->block_axis >= 0;
    const auto extent = [&](int axis) { return of->loop->extents[static_cast<size_t>(axis)]; };
    Strides along, across;
    if (vectors) along = strides(*of->loop, of->policy->vector_axis);
    if (blocks) across = strides(*of->loop, of->policy->block_axis);

    add("loop part of points", when(is, [&] { return of->points / loop_points_; }));
    add("loop outer axes", when(is, [&] { return of->nest_policy->outer * 1.0; }));
    add("loop outer points", when(is, [&] { return log_of(outer_points(*of)); }));
    add("loop lanes", when(is, [&] {
          return static_cast<double>(of->policy->lanes) / most_lanes(*of->loop, device_);
        }));
    add("loop unroll", when(is, [&] { return log_of(int64_t{of->policy->unroll}); }));
    add("loop vectors are reduced", when(vectors, [&] {
          return of->loop->is_reduced(static_cast<size_t>(of->policy->vector_axis)) ? 1.0 : 0.0;
        }));
    add("loop vector extent",
        when(vectors, [&] { return log_of(extent(of->policy->vector_axis)); }));
    add("loop vectors used", when(vectors, [&] {
          return used(extent(of->policy->vector_axis),
                      int64_t{of->policy->lanes} * of->policy->unroll);
        }));
    add("loop loads constant along vectors", when(vectors, [&] { return along.constant; }));
    add("loop loads contiguous along vectors", when(vectors, [&] { return along.next; }));
    add("loop loads far along vectors", when(vectors, [&] { return along.far; }));
    add("loop stores contiguous along vectors", when(vectors, [&] {
          return store_stride(*of->loop, of->policy->vector_axis) == 1 ? 1.0 : 0.0;
        }));
    add("loop block", when(is, [&] { return log_of(int64_t{of->policy->block}); }));
    add("loop block extent", when(blocks, [&] { return log_of(extent(of->policy->block_axis)); }));
    add("loop block used",
        when(blocks, [&] { return used(extent(of->policy->block_axis), of->policy->block); }));
    add("loop loads constant along block", when(blocks, [&] { return across.constant; }));
    add("loop loads contiguous along block", when(blocks, [&] { return across.next; }));
    add("loop values at once", when(is, [&] {
          return static_cast<double>(of->policy->unroll * of->policy->block) /
                 device_.vector_registers;
        }));
    add("loop streams", when(is, [&] { return of->policy->streaming ? 1.0 : 0.0; }));
  }

  static int64_t outer_points(const LoopItem& of) {
    int64_t points = 1;
    for (int axis = 0; axis < of.nest_policy->outer; ++axis) {
      points *= of.loop->extents[static_cast<size_t>(axis)];
    }
    return points;
  }

  void product(const ProductOfPolicy* of, const AddOne& add) const {
    if (of == nullptr) {
      // The same names with NaN.
      const ProductItem item{};
      const ProductPolicy policy{.depth = 1, .columns = 1};
      const ProductOfPolicy some{&item, &policy, 1};
      product(some, [&](std::string_view name, double) {
        add(name, std::numeric_limits<double>::quiet_NaN());
      });
      return;
    }
    product(*of, add);
  }

  void product(const ProductOfPolicy& of, const AddOne& add) const {
    const ProductShape& s = of.item->shape;
    const ProductPolicy& p = *of.policy;
    const int64_t width = int64_t{p.vectors} * p.lanes;
    const double bytes = info(s.dtype).bytes;
    const auto part_of = [&](int64_t elements, size_t cache) {
      return log_of(static_cast<double>(elements) * bytes) - log_of(device_.caches[cache].bytes);
    };
    const int64_t depth_blocks = ceil_div(s.depth, p.depth);
    const int64_t column_blocks = ceil_div(s.columns, p.columns);
    add("product outer", log_of(s.outer));
    add("product rows", log_of(s.rows));
    add("product columns", log_of(s.columns));
    add("product depth", log_of(s.depth));
    add("product left side", static_cast<double>(s.left));
    add("product right side", static_cast<double>(s.right));
    add("product tile rows", p.rows);
    add("product tile vectors", p.vectors);
    add("product lanes", p.lanes);
    add("product share", static_cast<double>(p.share));
    add("product strip", log_of(p.strip));
    add("product packing decided", p.packing.loops.empty() ? 0 : 1);
    add("product registers",
        static_cast<double>(p.rows * p.vectors + p.vectors + 1) / device_.vector_registers);
    add("product loads by multiplication",
        static_cast<double>(p.rows + p.vectors) / (p.rows * p.vectors));
    add("product rows used", used(s.line, p.rows));
    add("product columns used", used(s.columns, width));
    add("product row tiles", log_of(ceil_div(s.line, int64_t{p.rows})));
    add("product depth blocks", log_of(depth_blocks));
    add("product column blocks", log_of(column_blocks));
    add("product block depth", log_of(p.depth));
    add("product tile of the right side in L1", part_of(p.depth * width, 0));
    add("product tile of the left side in L1", part_of(p.depth * p.rows, 0));
    add("product block of the right side in L2", part_of(p.depth * p.columns, 1));
    add("product left side in L2", part_of(s.rows * p.depth, 1));
    add("product results in L2", part_of(s.rows * p.columns, 1));
    // Traffic caused by blocking: sums per depth block, the left side per column block.
    add("product moves of results", log_of(s.outer * s.rows * s.columns * depth_blocks));
    add("product moves of the left side", log_of(s.outer * s.rows * s.depth * column_blocks));
    add("product columns first", p.columns_first ? 1 : 0);
    add("product prefetches", p.prefetch ? 1 : 0);
    add("product streams", p.streaming ? 1 : 0);
  }

  const Schedule& schedule_;
  const Policy& policy_;
  const Device& device_;
  std::vector<LoopItem> loops_;
  std::vector<ProductOfPolicy> products_;
  double loop_points_ = 0;
  double product_points_ = 0;
  std::vector<float> numbers_;
};

}  // namespace

std::vector<float> features_of(const Schedule& schedule, const Policy& policy,
                               const Device& device) {
  return Row(schedule, policy, device).numbers();
}

const std::vector<std::string>& feature_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    int caches = 0;
    Row({}, {}, {}).visit([&](std::string_view name, size_t slot, double) {
      // "loop lanes" of the second loop becomes "loop 2 lanes".
      std::string full(name);
      if (slot > 0) full.insert(full.find(' ') + 1, fmt::format("{} ", slot));
      if (name == "cache bytes") full = fmt::format("L{} bytes", ++caches);
      all.push_back(std::move(full));
    });
    return all;
  }();
  return names;
}

}  // namespace aoe
