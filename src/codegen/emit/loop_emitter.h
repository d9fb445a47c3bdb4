#pragma once

#include <array>

#include "codegen/emit/point_emitter.h"

namespace aoe {

// What the loops of a stage are inside of.
struct LoopSurroundings {
  std::vector<AxisAt> at;  // the outer axes
  int ranged_axis = -1;    // the axis that goes over `range`, if any
  std::array<llvm::Value*, 2> range{};
};

void emit_loop(FunctionBuilder& function, Elements& elements, PointEmitter& points,
               const Device& device, const Loop& loop, const LoopSurroundings& around);

}  // namespace aoe
