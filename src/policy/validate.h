#pragma once

#include <optional>
#include <string>

#include "policy/schedule.h"

namespace aoe {

// The bounds of a policy's decisions, shared by validation and the search space. Every policy
// within them gives correct code of bounded size.

inline constexpr int kMostTileRows = 14;
inline constexpr int kMostTileVectors = 8;
inline constexpr int kMostUnroll = 32;
inline constexpr int kMostBlock = 16;
inline constexpr int kMostPolicyThreads = 1024;

// Most lanes of a vector on the device, a power of two; for a loop, of its widest type.
int most_lanes(const Loop& loop, const Device& device);
int most_lanes(const ProductShape& shape, const Device& device);

// Whether a tile needs at most two registers more than there are, counting its accumulators, the
// vectors of one step of the right side and one of the left: such code may still have no spills.
bool tile_fits(int rows, int vectors, const Device& device);
// Most rows of a tile.
int most_tile_rows(const ProductShape& shape);

// The number of columns of which column blocks are multiples.
int64_t column_unit(const ProductShape& shape, const ProductPolicy& policy);

// Whether `block` is a valid block size of an extent `all`: all of it, or a multiple of `unit`.
bool is_block(int64_t block, int64_t unit, int64_t all);

bool may_be_vector_axis(const Loop& loop, size_t outer, size_t axis);
bool may_be_block_axis(const Loop& loop, size_t outer, int vector_axis, size_t axis);
// Whether the unrolled body (unroll x block points) is not too much code.
bool is_small_enough(const Loop& loop, const LoopPolicy& policy);
// Most outer axes of a nest with this single loop: those before its vector and block axes.
int most_outer(const Loop& loop, const LoopPolicy& policy);

// Each returns the reason why the decisions are invalid, or nothing if they are valid.
std::optional<std::string> fault_of(const Structure& structure, const Workload& workload);
std::optional<std::string> fault_of(const Policy& policy, const Schedule& schedule,
                                    const Device& device);
std::optional<std::string> validate(const Policy& policy, const Workload& workload,
                                    const Device& device);

}  // namespace aoe
