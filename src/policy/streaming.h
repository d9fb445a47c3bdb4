#pragma once

#include "device/device.h"
#include "loop/nest.h"

namespace aoe {

// Streaming (non-temporal) stores must be whole vectors, aligned if their buffers are.

// Whether all stores of the loop meet this.
bool stores_whole_vectors(const Nest& nest, const Loop& loop, const LoopPolicy& policy);
// Whether they do, or `gather_transposed` can make them so.
bool may_stream(const Nest& nest, const Loop& loop, const LoopPolicy& policy);

// Whether a result of the loop is too large to stay in the caches until it is read. Streaming
// smaller results would make the loop look fast and slow down their readers.
bool is_worth_streaming(const Nest& nest, const Loop& loop, const Device& device);

// Makes a loop that transposes in registers streamable. Its rows of results rarely begin at aligned
// addresses, but a block of them does and is contiguous. The nest's only loop becomes two: one
// gathers a block in a row of the nest, the other streams it.
Nest gather_transposed(Nest nest);

}  // namespace aoe
