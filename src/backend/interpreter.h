#pragma once

#include "backend/backend.h"

namespace aoe {

// Returns a backend that runs Programs without generating code: nests on the reference evaluator,
// loop by loop, and tiles by plain arithmetic in f64 (integers in 64 bits).
std::shared_ptr<const Backend> interpreter_backend(Device device);

}  // namespace aoe
