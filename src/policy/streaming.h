#pragma once

#include "device/device.h"
#include "loop/nest.h"

namespace aoe {

// Stores past the caches are whole vectors, aligned if their buffers are.

// Whether those of the loop as it is would be.
bool stores_whole_vectors(const Nest& nest, const Loop& loop, const LoopPolicy& policy);
// Whether they are, or can be made so.
bool may_stream(const Nest& nest, const Loop& loop, const LoopPolicy& policy);

// Whether results are so large that whoever reads them next would not find them in the caches
// anyway. Smaller ones, if written past them, make the writer look fast and its readers slow.
bool is_worth_streaming(const Nest& nest, const Loop& loop, const Device& device);

// Rows of results that are turned in registers rarely begin at aligned places, but a block of them
// does, and lies in one piece. The nest's only loop becomes two: one gathers a block in a
// private row of the thread, the other writes it.
Nest gather_turned(Nest nest);

}  // namespace aoe
