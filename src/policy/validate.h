#pragma once

#include <optional>
#include <string>

#include "policy/schedule.h"

namespace aoe {

// What may vary in a policy, as numbers that validation and the space of policies share: whatever a
// policy says within these bounds is correct code of bounded size.

inline constexpr int kMostTileRows = 14;
inline constexpr int kMostTileVectors = 8;
inline constexpr int kMostUnroll = 32;
inline constexpr int kMostBlock = 16;
inline constexpr int kMostPoliciedThreads = 1024;

// Lanes that a vector of the loop's elements may have on the device: the most, a power of two.
int most_lanes(const Loop& loop, const Device& device);
int most_lanes(const ProductShape& shape, const Device& device);

// Whether accumulators, columns and a row's element together are no more than a few above the
// registers there are, where code may still come out without spills.
bool tile_fits(int rows, int vectors, const Device& device);
// The most rows that a tile may have.
int most_tile_rows(const ProductShape& shape);

// Blocks of columns are whole multiples of it.
int64_t column_unit(const ProductShape& shape, const ProductPolicy& policy);

// Whether a block of so many of all columns, or of the depth, can be cut in whole units.
bool is_block(int64_t block, int64_t unit, int64_t all);

bool may_be_vector_axis(const Loop& loop, size_t outer, size_t axis);
bool may_be_block_axis(const Loop& loop, size_t outer, int vector_axis, size_t axis);
// Whether a body of so many points is not too much code.
bool is_small_enough(const Loop& loop, const LoopPolicy& policy);
// The most outer axes that the decisions about a nest's only loop leave open.
int most_outer(const Loop& loop, const LoopPolicy& policy);

// Why code must not be made from these decisions; nothing if it may.
std::optional<std::string> fault_of(const Structure& structure, const Workload& workload);
std::optional<std::string> fault_of(const Policy& policy, const Schedule& schedule,
                                    const Device& device);
std::optional<std::string> validate(const Policy& policy, const Workload& workload,
                                    const Device& device);

}  // namespace aoe
