#pragma once

#include <memory>

#include "codegen/jit/object_cache.h"

namespace aoe {

struct LoadedObject {
  void* entry = nullptr;
  std::shared_ptr<void> owner;  // unloads the code when it goes
};

// Gives an object addresses in this process and finds what it calls among the library functions, by
// name: an object has no address in it before. Throws Error if that fails. Any thread may call it.
LoadedObject load(const MachineObject& object);

}  // namespace aoe
