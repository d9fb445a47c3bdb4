#include "policy/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "expr/text.h"
#include "policy/packing.h"
#include "policy/strassen.h"
#include "policy/streaming.h"
#include "policy/validate.h"

// The space of policies of one workload, as a chain of decisions:
//
//   threads
//   for each stage:    place, product, copied, winograd, strassen       structural
//   for each nest:     for each loop vector axis, lanes, unroll, block axis, block, stream;
//                      then outer axes
//   for each product:  lanes, tile vectors, tile rows, block depth, block columns, columns first,
//                      prefetch, stream, share, packing; of Winograd and Strassen only lanes,
//                      tile vectors, tile rows, prefetch, strip
//
// The structure comes first, because it determines the items. Within an item, a decision follows
// those that bound it: tile rows follow tile vectors, because both share the registers.
//
// In reading order: the options of single decisions (block_sizes, lane_options); Space::Chain,
// which makes one pass over the decisions and calls a chooser for each; the methods of Space, each
// a pass of a Chain with a different chooser: random (sample), the policy's option except for one
// decision (with), the policy's option (decisions, adapted, crossover).
//
// Invariants: the options of a decision depend only on the decisions before it, so that a prefix of
// choices can be replayed. Every option leads to a valid policy (validate.h). A decision with a
// single option is skipped and has no number.

namespace aoe {
namespace {

// Number of cached schedules: computing one takes about a millisecond, and searches alternate
// between few structures.
constexpr size_t kKeptSchedules = 64;

// Least weight of a decision. `mutate` picks decisions by their item's share of the work; items of
// almost no work keep this weight, so that they are tried occasionally.
constexpr double kLeastWeight = 0.05;

// Iterations of an item's innermost code: multiply-adds of a product, points of loops.
double points_of(const Item& item) {
  if (const auto* product = std::get_if<ProductItem>(&item)) {
    const ProductShape& s = product->shape;
    return static_cast<double>(s.outer * s.rows) * static_cast<double>(s.columns) *
           static_cast<double>(s.depth);
  }
  double points = 0;
  for (const Loop& loop : std::get<Nest>(item).loops) {
    points += static_cast<double>(element_count(loop.extents));
  }
  return points;
}

// Block sizes worth trying: `all`, repeated halves of it, and `more`: the sizes of the current
// policy and of the default. Halves, because a block fits a cache or not: finer steps are not worth
// a trial each.
std::vector<int64_t> block_sizes(int64_t all, int64_t unit, std::initializer_list<int64_t> more) {
  constexpr int64_t kSmallest = 8;  // the call of a tile dominates smaller blocks
  std::set<int64_t> sizes{all};
  for (int64_t size = all / 2; size >= std::max(unit, kSmallest); size /= 2) {
    sizes.insert(size / unit * unit);
  }
  for (const int64_t size : more) {
    if (is_block(size, unit, all)) sizes.insert(size);
  }
  return {sizes.begin(), sizes.end()};
}

// The numbers from `first` to `last` that satisfy a condition.
template <typename Fn>
std::vector<int> numbers_where(int first, int64_t last, const Fn& holds) {
  std::vector<int> numbers;
  for (int number = first; number <= last; ++number) {
    if (holds(number)) numbers.push_back(number);
  }
  return numbers;
}

// Whole vectors, or half ones, which leave smaller remainders and fit cores whose units are half as
// wide as their registers.
std::vector<int> lane_options(int most) {
  return most > 2 ? std::vector{most / 2, most} : std::vector{most};
}

// Policies that differ from this one in one decision, without duplicates. With `structural`, one
// for each structure, whose items have their defaults.
std::vector<Policy> others(const Space& space, const Policy& policy, bool structural) {
  std::vector<Policy> found;
  const std::vector<Decision> chain = space.decisions(policy);
  for (size_t d = 0; d < chain.size(); ++d) {
    if (structural && !chain[d].structural) continue;
    for (size_t option = 0; option < chain[d].options.size(); ++option) {
      if (option == chain[d].chosen) continue;
      Policy other = space.with(policy, d, option);
      const auto same = [&](const Policy& one) {
        return structural ? one.structure == other.structure : one == other;
      };
      const bool known = same(policy) || std::any_of(found.begin(), found.end(), same);
      if (!known) found.push_back(std::move(other));
    }
  }
  return found;
}

// Adapts the decisions about the nest `there` to the corresponding nest `here` of another workload.
// Axes are matched from the last one, the usual vector axis: merging may have left more or fewer
// axes in front.
bool fit(NestPolicy& policy, const Nest& there, const Nest& here) {
  if (there.loops.size() != here.loops.size()) return false;
  for (size_t i = 0; i < here.loops.size(); ++i) {
    const int shift = static_cast<int>(here.loops[i].extents.size()) -
                      static_cast<int>(there.loops[i].extents.size());
    for (int* axis : {&policy.loops[i].vector_axis, &policy.loops[i].block_axis}) {
      if (*axis >= 0) *axis = std::max(0, *axis + shift);
    }
  }
  return true;
}

// The chooser that stays as close as possible to the policy that the chain starts from.
size_t take_wanted(size_t, size_t, size_t wanted) { return wanted; }

}  // namespace

// One pass over the decisions. Builds `policy_` from the chosen options, field by field in the
// order above. `from_` is the policy that it starts from; it gives each decision its wanted option.
class Space::Chain {
 public:
  Chain(const Space& space, const Policy& from, const Chooser& choose, std::vector<Decision>* seen)
      : space_(space), from_(from), choose_(choose), seen_(seen) {}

  Policy go() {
    // 0: as many as the caller offers. Fewer can be faster if threads share a cache; powers of two
    // are enough to find out.
    std::vector<int> threads{0};
    for (int count = 1; count < space_.device_.cores; count *= 2) threads.push_back(count);
    policy_.threads = decide("threads", threads, from_.threads);
    structural_ = true;
    structure();
    structural_ = false;
    const Schedule& schedule = space_.schedule(policy_.structure);
    const Policy by_default = aoe::default_policy(schedule, policy_.structure, space_.device_);
    double all_points = 0;
    for (const Item& item : schedule.items) all_points += points_of(item);
    // Another structure has other items, for which `from_` has no decisions: they start from their
    // defaults.
    const bool same = policy_.structure == from_.structure;
    for (size_t i = 0; i < schedule.items.size(); ++i) {
      place_ = fmt::format("item {}: ", i + 1);
      weight_ = std::max(kLeastWeight, points_of(schedule.items[i]) / all_points);
      const ItemPolicy& from = same ? from_.items[i] : by_default.items[i];
      if (const auto* nest = std::get_if<Nest>(&schedule.items[i])) {
        policy_.items.emplace_back(
            loops(*nest, std::get<NestPolicy>(from), std::get<NestPolicy>(by_default.items[i])));
      } else {
        policy_.items.emplace_back(product(schedule, std::get<ProductItem>(schedule.items[i]),
                                           std::get<ProductPolicy>(from),
                                           std::get<ProductPolicy>(by_default.items[i])));
      }
    }
    return std::move(policy_);
  }

 private:
  // Asks the chooser for one of the options. Its wanted option is the one nearest to the value
  // `wanted`, which may no longer be an option after an earlier decision has changed.
  template <typename T, typename Text>
  T decide(std::string_view name, const std::vector<T>& options, T wanted, const Text& text) {
    if (options.size() == 1) return options[0];
    size_t nearest = 0;
    for (size_t i = 1; i < options.size(); ++i) {
      const auto distance = [&](size_t which) {
        return std::abs(static_cast<double>(options[which]) - static_cast<double>(wanted));
      };
      if (distance(i) < distance(nearest)) nearest = i;
    }
    const size_t chosen = choose_(count_++, options.size(), nearest);
    if (seen_ != nullptr) {
      Decision decision{place_ + std::string(name), {}, chosen, structural_, weight_};
      for (const T& option : options) decision.options.push_back(text(option));
      seen_->push_back(std::move(decision));
    }
    return options[chosen];
  }
  template <typename T>
  T decide(std::string_view name, const std::vector<T>& options, T wanted) {
    return decide(name, options, wanted, [](T option) { return std::to_string(option); });
  }
  bool decide(std::string_view name, bool wanted) {
    return decide(name, std::vector<int>{0, 1}, wanted ? 1 : 0,
                  [](int option) { return std::string(option != 0 ? "yes" : "no"); }) != 0;
  }

  // Strips stay as in `from_`: they come from the text of a policy, and no decision adds or changes
  // them.
  void structure() {
    const size_t count = space_.applicable_.size();
    policy_.structure.stages.resize(count);
    policy_.structure.strips = from_.structure.strips;
    for (size_t s = 0; s < count; ++s) {
      const Schedule::Transforms& can = space_.applicable_[s];
      const StagePolicy from = from_.structure.of(s);
      StagePolicy& stage = policy_.structure.stages[s];
      place_ = fmt::format("stage {}: ", s);
      std::vector<Place> places{Place::anywhere};
      if (can.inlined) places.push_back(Place::rows);
      if (can.inlined || can.shared) places.push_back(Place::root);
      stage.place = decide("place", places, from.place, [](Place place) -> std::string {
        return place == Place::root ? "root" : place == Place::rows ? "rows" : "anywhere";
      });
      if (can.product && !can.inlined) stage.product = decide("product", from.product);
      if (can.window_bytes > 0) stage.copied = decide("copied", from.copied);
      const Numerics allowed = space_.workload_->numerics;
      if (can.winograd && stage.product && allowed >= Numerics::winograd &&
          can.winograd->filters % (space_.device_.vector_bytes / 4) == 0) {
        std::vector<int> sides{0};
        sides.insert(sides.end(), kWinogradTiles.begin(), kWinogradTiles.end());
        stage.winograd = decide("winograd", sides, from.winograd);
      }
      if (can.strassen_columns > 0 && stage.product && stage.winograd == 0 &&
          allowed >= Numerics::strassen &&
          can.strassen_columns % (2 * space_.device_.vector_bytes / 4) == 0) {
        stage.strassen = decide("strassen", from.strassen);
      }
    }
    // Another placement of a stage may make a strip loop impossible. All strips are then dropped,
    // because the structure lists them together.
    const auto& loops = space_.schedule(policy_.structure).strip_loops;
    const auto cannot = [](const StripLoop& loop) { return loop.axes == 0; };
    if (std::any_of(loops.begin(), loops.end(), cannot)) policy_.structure.strips.clear();
  }

  // Loops before the outer axes: axes that a loop uses for vectors or blocks cannot be outer ones.
  NestPolicy loops(const Nest& nest, const NestPolicy& from, const NestPolicy& by_default) {
    NestPolicy policy;
    const std::string item = place_;
    for (size_t i = 0; i < nest.loops.size(); ++i) {
      if (nest.loops.size() > 1) place_ = fmt::format("{}loop {}: ", item, i + 1);
      policy.loops.push_back(loop(nest, nest.loops[i], from.loops[i], by_default.loops[i]));
    }
    place_ = item;
    policy.outer = static_cast<int>(nest.outer.size());
    if (has_open_outer(nest)) {
      const int most = most_outer(nest.loops[0], policy.loops[0]);
      policy.outer =
          decide("outer axes", numbers_where(0, most, [](int) { return true; }), from.outer);
    }
    return policy;
  }

  LoopPolicy loop(const Nest& nest, const Loop& loop, const LoopPolicy& from,
                  const LoopPolicy& by_default) {
    const size_t outer = nest.outer.size();
    // Chooses one of the axes that satisfy a condition, or none (-1). The bounds of the ranged axis
    // are arguments of the call, so it is neither vectorized nor blocked.
    const auto decide_axis = [&](std::string_view name, int wanted, const auto& may_be) {
      const auto holds = [&](int axis) {
        return axis < 0 || (axis != nest.ranged_axis && may_be(static_cast<size_t>(axis)));
      };
      const int64_t last = static_cast<int64_t>(loop.extents.size()) - 1;
      return decide(name, numbers_where(-1, last, holds), wanted, [&](int axis) {
        return axis < 0 ? std::string("none") : axis_name(axis, loop.out_rank);
      });
    };
    LoopPolicy policy;
    const int most = most_lanes(loop, space_.device_);
    policy.vector_axis = decide_axis("vector axis", from.vector_axis, [&](size_t axis) {
      return most > 1 && may_be_vector_axis(loop, outer, axis);
    });
    if (policy.vector_axis >= 0) vectors(policy, loop, from, by_default, most);
    policy.block_axis = decide_axis("block axis", from.block_axis, [&](size_t axis) {
      return may_be_block_axis(loop, outer, policy.vector_axis, axis);
    });
    if (policy.block_axis >= 0) block(policy, loop, from, by_default);
    // A buffer without a value is scratch memory that is read at once: it must stay in the caches.
    const bool kept = nest.buffers[static_cast<size_t>(loop.stores[0].buffer)].value >= 0;
    if (kept && is_worth_streaming(nest, loop, space_.device_) && may_stream(nest, loop, policy)) {
      policy.streaming = decide("stream", from.streaming);
    }
    return policy;
  }

  void vectors(LoopPolicy& policy, const Loop& loop, const LoopPolicy& from,
               const LoopPolicy& by_default, int most) {
    const int64_t extent = loop.extents[static_cast<size_t>(policy.vector_axis)];
    int lanes = most;
    while (lanes > 2 && lanes / 2 >= extent) lanes /= 2;
    policy.lanes = decide("lanes", lane_options(lanes), from.vector_axis < 0 ? lanes : from.lanes);
    // Powers of two, and the factors of the current and the default policy; the last vector must
    // not be entirely beyond the extent.
    const std::vector<int> options = numbers_where(1, kMostUnroll, [&](int unroll) {
      const bool regular = unroll <= 2 || unroll == 4 || unroll == 8;
      return (regular || unroll == from.unroll || unroll == by_default.unroll) &&
             (unroll == 1 || (unroll - 1) * int64_t{policy.lanes} < extent);
    });
    policy.unroll = decide("unroll", options, from.unroll);
  }

  void block(LoopPolicy& policy, const Loop& loop, const LoopPolicy& from,
             const LoopPolicy& by_default) {
    const int64_t extent = loop.extents[static_cast<size_t>(policy.block_axis)];
    const int64_t most = std::min<int64_t>(extent, kMostBlock);
    // A block of as many positions as lanes is a square, which is transposed in registers
    // (loop_emitter.cpp).
    const std::vector<int> options = numbers_where(2, most, [&](int block) {
      const bool regular = block <= 4 || block == 6 || block == 8 || block == policy.lanes;
      LoopPolicy tried = policy;
      tried.block = block;
      return (regular || block == from.block || block == by_default.block) &&
             is_small_enough(loop, tried);
    });
    // A policy that transposes squares keeps doing so when the number of lanes changes.
    const bool square = from.block_axis >= 0 && from.block == from.lanes;
    if (options.empty()) policy.block_axis = -1;
    else policy.block = decide("block", options, square ? policy.lanes : from.block);
  }

  // The register tile (mr = rows, nr = vectors x lanes) first, then the blocks around it (kc =
  // depth, nc = columns), which are multiples of the tile.
  ProductPolicy product(const Schedule& schedule, const ProductItem& item,
                        const ProductPolicy& from, const ProductPolicy& by_default) {
    const ProductShape& shape = item.shape;
    ProductPolicy policy;
    policy.lanes = decide("lanes", lane_options(most_lanes(shape, space_.device_)), from.lanes);
    const std::vector<int> vectors = numbers_where(1, kMostTileVectors, [&](int vectors) {
      const bool needed = vectors == 1 || (vectors - 1) * int64_t{policy.lanes} < shape.columns;
      const bool whole =
          !shape.transformed || shape.columns % (int64_t{vectors} * policy.lanes) == 0;
      return tile_fits(1, vectors, space_.device_) && needed && whole;
    });
    policy.vectors = decide("tile vectors", vectors, from.vectors);
    const std::vector<int> rows = numbers_where(1, most_tile_rows(shape), [&](int rows) {
      return tile_fits(rows, policy.vectors, space_.device_);
    });
    policy.rows = decide("tile rows", rows, from.rows);
    // Winograd and Strassen process all of the depth and one tile of columns at a time. Prefetching
    // and the number of rows at once are left to decide.
    if (shape.transformed) {
      policy.depth = shape.depth;
      policy.columns = int64_t{policy.vectors} * policy.lanes;
      policy.columns_first = true;
      policy.prefetch = decide("prefetch", from.prefetch);
      strip(policy, schedule, item, from);
      return policy;
    }
    policy.depth = decide(
        "block depth", block_sizes(shape.depth, shape.depth_step, {from.depth, by_default.depth}),
        from.depth);
    policy.columns = decide(
        "block columns",
        block_sizes(shape.columns, column_unit(shape, policy), {from.columns, by_default.columns}),
        from.columns);
    policy.columns_first = decide("columns first", from.columns_first);
    if (shape.right != Side::packed) policy.prefetch = decide("prefetch", from.prefetch);
    if (is_worth_streaming(shape, space_.device_)) {
      policy.streaming = decide("stream", from.streaming);
    }
    if (space_.device_.cores > 1) {
      std::vector<Share> shares{Share::automatic, Share::blocks, Share::rows};
      if (shape.right != Side::packed) shares.insert(shares.begin() + 2, Share::columns);
      policy.share =
          decide("share", shares, from.share, [](Share share) { return std::string(name(share)); });
    }
    packing(policy, schedule, item, from);
    return policy;
  }

  // Rows that Winograd's and Strassen's algorithms process at once: the default (0), half or twice
  // of it, or those of `from`.
  void strip(ProductPolicy& policy, const Schedule& schedule, const ProductItem& item,
             const ProductPolicy& from) {
    int64_t most = item.shape.rows;
    int64_t usual = strassen_strip(policy);
    if (item.winograd != 0) {
      const Winograd w = *winograd_of(schedule.workload, schedule.workload.stages[item.stage]);
      most = ceil_div(w.height, int64_t{item.winograd});
      usual = winograd_strip(w, item.winograd, policy, space_.device_);
    }
    std::set<int64_t> rows{0};
    for (const int64_t some : {usual / 2, usual * 2, from.strip}) {
      if (some > 0 && some <= most) rows.insert(some);
    }
    const std::vector<int64_t> options(rows.begin(), rows.end());
    policy.strip = decide("strip", options, from.strip);
  }

  void packing(ProductPolicy& policy, const Schedule& schedule, const ProductItem& item,
               const ProductPolicy& from) {
    const auto nest = packing_nest(schedule, item);
    if (!nest) return;
    const NestPolicy usual = packing_policy({*nest}, {}, space_.device_);
    const std::string place = place_;
    place_ += "packing: ";
    policy.packing = loops(*nest, from.packing.loops.empty() ? usual : from.packing, usual);
    place_ = place;
    // An empty policy means the default: equal policies then compare equal, and have one text.
    if (policy.packing == usual) policy.packing = {};
  }

  const Space& space_;
  const Policy& from_;
  const Chooser& choose_;
  std::vector<Decision>* seen_;
  std::string place_;
  bool structural_ = false;
  double weight_ = 1;
  size_t count_ = 0;
  Policy policy_;
};

Space::Space(std::shared_ptr<const Workload> workload, const Device& device)
    : workload_(std::move(workload)), device_(device) {
  const Schedule& plain = schedule({});
  applicable_ = plain.applicable;
  Structure structure = default_structure(plain, device_);
  structure.stages.resize(workload_->stages.size());
  default_ = aoe::default_policy(schedule(structure), structure, device_);
}

const Schedule& Space::schedule(const Structure& structure) const {
  for (const auto& [known, schedule] : schedules_) {
    if (known == structure) return *schedule;
  }
  // Evicts the oldest but for the first, the schedule under Structure{}.
  if (schedules_.size() >= kKeptSchedules) schedules_.erase(schedules_.begin() + 1);
  schedules_.emplace_back(structure,
                          std::make_unique<Schedule>(schedule_of(*workload_, structure)));
  return *schedules_.back().second;
}

Policy Space::chain(const Policy& from, const Chooser& choose, std::vector<Decision>* seen) const {
  return Chain(*this, from, choose, seen).go();
}

Policy Space::sample(Random& random) const {
  return chosen(default_, [&](size_t, size_t count, size_t) {
    return std::uniform_int_distribution<size_t>(0, count - 1)(random);
  });
}

std::vector<Decision> Space::decisions(const Policy& policy) const {
  std::vector<Decision> seen;
  chain(policy, take_wanted, &seen);
  return seen;
}

Policy Space::with(const Policy& policy, size_t decision, size_t option) const {
  return chosen(policy, [&](size_t which, size_t count, size_t wanted) {
    return which == decision ? std::min(option, count - 1) : wanted;
  });
}

std::vector<Policy> Space::other_structures() const { return others(*this, default_, true); }

std::vector<Policy> Space::neighbours(const Policy& policy) const {
  return others(*this, policy, false);
}

Policy Space::mutate(const Policy& policy, Random& random) const {
  const std::vector<Decision> chain = decisions(policy);
  if (chain.empty()) return policy;
  std::vector<double> weights;
  for (const Decision& one : chain) weights.push_back(one.weight);
  const size_t decision =
      std::discrete_distribution<size_t>(weights.begin(), weights.end())(random);
  const size_t others = chain[decision].options.size() - 1;
  const size_t other = std::uniform_int_distribution<size_t>(0, others - 1)(random);
  return with(policy, decision, other + (other >= chain[decision].chosen ? 1 : 0));
}

Policy Space::crossover(const Policy& a, const Policy& b, Random& random) const {
  const auto coin = [&] { return (random() & 1) != 0; };
  if (a.structure != b.structure) return coin() ? a : b;
  Policy child = a;
  if (coin()) child.threads = b.threads;
  for (size_t i = 0; i < child.items.size(); ++i) {
    if (auto* nest = std::get_if<NestPolicy>(&child.items[i])) {
      // Decisions about a loop depend on each other, so loops are copied as a whole. The number of
      // outer axes is copied with the first loop.
      const auto& other = std::get<NestPolicy>(b.items[i]);
      for (size_t k = 0; k < nest->loops.size(); ++k) {
        if (!coin()) continue;
        nest->loops[k] = other.loops[k];
        if (k == 0) nest->outer = other.outer;
      }
      continue;
    }
    auto& product = std::get<ProductPolicy>(child.items[i]);
    const auto& other = std::get<ProductPolicy>(b.items[i]);
    const auto mix = [&](auto... fields) {
      ((coin() ? void(product.*fields = other.*fields) : void()), ...);
    };
    using P = ProductPolicy;
    mix(&P::lanes, &P::vectors, &P::rows, &P::depth, &P::columns, &P::columns_first, &P::prefetch,
        &P::streaming, &P::share, &P::strip, &P::packing);
  }
  // Fields of both parents may not be valid together. The pass takes the nearest valid options.
  return chosen(child, take_wanted);
}

std::optional<Policy> Space::adapted(const Policy& policy, const Workload& of) const {
  if (of.stages.size() != workload_->stages.size()) return std::nullopt;
  if (fault_of(policy.structure, *workload_)) return std::nullopt;
  const Schedule there = schedule_of(of, policy.structure);
  const Schedule& here = schedule(policy.structure);
  if (there.items.size() != here.items.size()) return std::nullopt;
  Policy from = policy;
  for (size_t i = 0; i < here.items.size(); ++i) {
    if (there.items[i].index() != here.items[i].index()) return std::nullopt;
    if (const auto* nest = std::get_if<Nest>(&here.items[i])) {
      if (!fit(std::get<NestPolicy>(from.items[i]), std::get<Nest>(there.items[i]), *nest)) {
        return std::nullopt;
      }
    } else {
      // A block that covers the whole extent there covers the whole extent here.
      auto& product = std::get<ProductPolicy>(from.items[i]);
      const ProductShape& whole = std::get<ProductItem>(there.items[i]).shape;
      const ProductShape& shape = std::get<ProductItem>(here.items[i]).shape;
      if (product.depth == whole.depth) product.depth = shape.depth;
      if (product.columns == whole.columns) product.columns = shape.columns;
    }
  }
  from.structure.stages.resize(workload_->stages.size());
  return chosen(from, take_wanted);
}

bool Space::has_products() const {
  return std::any_of(applicable_.begin(), applicable_.end(),
                     [](const Schedule::Transforms& can) { return can.product; });
}

double Space::size() const {
  double size = 1;
  for (const Decision& decision : decisions(default_)) {
    size *= static_cast<double>(decision.options.size());
  }
  return size;
}

}  // namespace aoe
