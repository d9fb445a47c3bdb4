#pragma once

#include "expr/workload.h"

namespace aoe {

// The shape with one dimension as two: blocks, and positions in a block.
Shape split(Shape shape, size_t dim, int64_t block);

// Lets every load of a value count one of its dimensions as blocks and positions in them, which is
// how its shape reads then; elements stay where they are. Loops along that dimension become two,
// and so do those of what is made there. False, with the workload in pieces, if some load would
// have to divide. Views of the value keep their shapes.
bool split_value(Workload& workload, int value, size_t dim, int64_t block);

// The same for an output axis of a stage, whose extent is a multiple of the block's: what the stage
// makes has the shape of its axes. Loads that would have to divide are of a view.
void split_axis(Workload& workload, size_t stage, size_t axis, int64_t block);

}  // namespace aoe
