#pragma once

#include <array>

#include "codegen/emit/point_emitter.h"

namespace aoe {

// The context in which the loops of a stage are emitted.
struct LoopContext {
  std::vector<AxisPosition> at;         // positions of the outer axes
  int ranged_axis = -1;                 // the axis whose bounds are `range`, if any
  std::array<llvm::Value*, 2> range{};  // begin and end
};

// Emits the loops of one stage.
void emit_loop(FunctionBuilder& function, Elements& elements, PointEmitter& points,
               const Device& device, const Loop& loop, const LoopContext& around);

}  // namespace aoe
