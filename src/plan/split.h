#pragma once

#include "expr/workload.h"

namespace aoe {

// Returns the shape with dimension `dim` split in two: blocks, then positions in a block.
Shape split(Shape shape, size_t dim, int64_t block);

// Splits dimension `dim` of a value into blocks and positions in a block, in its shape and in every
// load of it. Elements stay where they are, and views of the value keep their shapes. Loops along
// the dimension are split too, and with them the values that they compute. Returns false, with the
// workload partly rewritten, if a load would need a division.
bool split_value(Workload& workload, int value, size_t dim, int64_t block);

// Splits an output axis of a stage, whose extent must be a multiple of `block`, and that dimension
// of the values that the stage computes. Where a load of such a value would need a division, its
// loads read a view in the old shape.
void split_axis(Workload& workload, size_t stage, size_t axis, int64_t block);

}  // namespace aoe
