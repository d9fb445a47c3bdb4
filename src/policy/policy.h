#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/numerics.h"
#include "loop/loop_policy.h"

namespace aoe {

// How the threads of a product divide its work.
enum class Share : uint8_t {
  automatic,  // whichever moves less data between cores (policy/product_sharing.cpp)
  blocks,     // column blocks of the policy's width
  columns,    // narrower column blocks, about one per thread
  rows,       // row tiles
};
inline constexpr std::array<std::string_view, 4> kShareNames{"automatic", "blocks", "columns",
                                                             "rows"};
inline std::string_view name(Share share) { return kShareNames[static_cast<size_t>(share)]; }

// The decisions about a contraction that runs as a blocked matrix product: the register tile (mr =
// rows, nr = vectors x lanes) and the cache block around it (kc = depth, nc = columns).
struct ProductPolicy {
  int rows = 1;
  int vectors = 1;
  int lanes = 1;
  int64_t depth = 0;           // kc; a multiple of ProductShape::depth_step
  int64_t columns = 0;         // nc
  bool columns_first = false;  // all row tiles of a column panel first; else all panels of a tile
  bool prefetch = false;       // fetches the next part of the right side while a tile runs
  bool streaming = false;      // non-temporal stores of results
  Share share = Share::automatic;
  // Rows of Winograd tiles, or pairs of Strassen rows, that are processed at once; 0: the default.
  int64_t strip = 0;
  NestPolicy packing;  // how blocks of the right side are packed; no loops: the default
  auto operator<=>(const ProductPolicy&) const = default;
};

// The placements that a stage may have. Its neighbours may rule out the first ones.
enum class Place : uint8_t {
  anywhere,  // inlined into its consumers if possible, else as `rows`
  rows,      // not inlined, but in one nest with its neighbours if possible
  root,      // in a separate nest
};

// Decisions about one stage of the workload.
struct StagePolicy {
  Place place = Place::anywhere;
  bool product = true;    // a contraction runs as a blocked matrix product; else as plain loops
  bool copied = true;     // strided windows are read from a copy; else in place
  int winograd = 0;       // m of Winograd's F(m x m, 3 x 3); 0: another algorithm
  bool strassen = false;  // a product with weights runs by Strassen's algorithm
  auto operator<=>(const StagePolicy&) const = default;
};

// Stages `first` to `last`, computed together by strips of `rows` positions of an axis of the last
// one. Values between them are as large as one strip and private to a thread. `rows` divides the
// extent of the axis.
struct Strips {
  size_t first = 0, last = 0;
  int axis = 0;
  int64_t rows = 1;
  auto operator<=>(const Strips&) const = default;
};

// Decisions about all stages; they determine the nests and products of the schedule. Stages without
// an entry have StagePolicy{}.
struct Structure {
  std::vector<StagePolicy> stages;
  std::vector<Strips> strips;  // disjoint ranges of stages

  StagePolicy of(size_t stage) const {
    return stage < stages.size() ? stages[stage] : StagePolicy{};
  }
  bool operator==(const Structure& other) const {
    for (size_t s = 0; s < std::max(stages.size(), other.stages.size()); ++s) {
      if (of(s) != other.of(s)) return false;
    }
    return strips == other.strips;
  }
};

// The class of algorithms that these decisions need.
inline Numerics numerics_of(const Structure& structure) {
  Numerics needed = Numerics::direct;
  for (const StagePolicy& stage : structure.stages) {
    if (stage.winograd != 0) needed = std::max(needed, Numerics::winograd);
    if (stage.strassen) needed = std::max(needed, Numerics::strassen);
  }
  return needed;
}

using ItemPolicy = std::variant<NestPolicy, ProductPolicy>;

// A Policy is every decision that turns a workload into a kernel; docs/policy.md has its text form.
struct Policy {
  Structure structure;
  std::vector<ItemPolicy> items;  // in the order of Schedule::items
  int threads = 0;                // most threads; 0: as many as the caller offers
  bool operator==(const Policy&) const = default;
};

}  // namespace aoe
