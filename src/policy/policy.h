#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "loop/loop_policy.h"

namespace aoe {

// What the threads of a product have each for itself.
enum class Share : uint8_t {
  automatic,  // what moves less between cores, by what is known of both sides
  blocks,     // blocks of columns, as they are decided
  columns,    // narrower ones, as many as there are threads
  rows,       // tiles of rows
};
inline constexpr std::array<std::string_view, 4> kShareNames{"automatic", "blocks", "columns",
                                                             "rows"};
inline std::string_view name(Share share) { return kShareNames[static_cast<size_t>(share)]; }

// How a contraction runs: blocks of rows x vectors in registers, around them blocks that stay in
// the caches.
struct ProductPolicy {
  int rows = 1;
  int vectors = 1;
  int lanes = 1;
  int64_t depth = 0;           // of a block; a whole number of windows
  int64_t columns = 0;         // of a block
  bool columns_first = false;  // all rows for a block of columns before the next, or the other way
  bool prefetch = false;       // the next columns while these are worked on
  bool streaming = false;      // results go past the caches
  Share share = Share::automatic;
  // Rows of Winograd's tiles, or of Strassen's pairs of rows, that are worked on at once; 0: what
  // the caches keep.
  int64_t strip = 0;
  NestPolicy packing;  // of blocks of the right side; no loops: the default
  auto operator<=>(const ProductPolicy&) const = default;
};

// Where a stage may be computed. What a stage's neighbours allow is less.
enum class Place : uint8_t {
  anywhere,  // written into what uses it
  rows,      // not that, but row by row together with its neighbours
  root,      // in a separate nest
};

// Decisions about one stage of the workload.
struct StagePolicy {
  Place place = Place::anywhere;
  bool product = true;    // a contraction runs as products of matrices; else as plain loops
  bool copied = true;     // what windows with steps see is copied first; else it is read as it lies
  int winograd = 0;       // a convolution runs by Winograd's algorithm, on tiles of that side
  bool strassen = false;  // a product with weights runs by Strassen's
  auto operator<=>(const StagePolicy&) const = default;
};

// Stages that are computed together, by strips of an axis of the last one: what lies between them
// is as large as one strip, and is private to a thread. The strip's rows divide the axis.
struct Strips {
  size_t first = 0, last = 0;
  int axis = 0;
  int64_t rows = 1;
  auto operator<=>(const Strips&) const = default;
};

// Decisions about all stages, which say what nests and products there are to decide about. Without
// any, every stage has the default.
struct Structure {
  std::vector<StagePolicy> stages;
  std::vector<Strips> strips;  // of stages that follow each other, none in two

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

using ItemPolicy = std::variant<NestPolicy, ProductPolicy>;

// Every decision that turns a workload into a kernel, as data: docs/policy.md has its text.
struct Policy {
  Structure structure;
  std::vector<ItemPolicy> items;  // as the schedule lists them
  int threads = 0;                // at most so many; 0: as many as the caller says
  bool operator==(const Policy&) const = default;
};

}  // namespace aoe
