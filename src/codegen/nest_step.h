#pragma once

#include "codegen/step.h"
#include "policy/nest.h"

namespace aoe {

// Runs a nest over the values that its buffers name.
std::unique_ptr<Kernel::Step> nest_step(Nest nest, const Device& device);

}  // namespace aoe
