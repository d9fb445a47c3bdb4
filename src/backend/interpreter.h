#pragma once

#include "backend/backend.h"

namespace aoe {

// Runs Programs without generating code: a nest on the reference evaluator, loop by loop, and a
// tile by plain arithmetic in f64.
std::shared_ptr<const Backend> interpreter_backend(Device device);

}  // namespace aoe
