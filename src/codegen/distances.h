#pragma once

#include "codegen/point_emitter.h"

namespace aoe {

// How far apart in memory the loads of a loop are, where that says in which order to go, or what to
// fetch early.

// Whether a walk along the vectors' axis goes through more pages than the processor has at hand.
bool reads_far(const Loop& loop, PointEmitter& points);

// Whether a load runs through a matrix without gaps, of a size that the next one may wait beside it
// in the second-level cache. The first axes of the loop, as many as `outer`, are outer ones.
bool is_near_matrix(const Expr& load, const Loop& loop, size_t outer, PointEmitter& points,
                    const Device& device);

// Whether what is summed lies pages apart from step to step, too much of it to be in a cache: the
// processor does not see by itself that the next vectors follow the ones of every step.
bool sums_far_apart(const Loop& loop, PointEmitter& points, const Device& device);

}  // namespace aoe
