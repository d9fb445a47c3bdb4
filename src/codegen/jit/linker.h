#pragma once

#include <memory>

#include "codegen/jit/object_cache.h"

namespace aoe {

struct LoadedObject {
  void* entry = nullptr;        // of the function kEntry
  std::shared_ptr<void> owner;  // unloads the code when its last copy is destroyed
};

// Loads an object into this process: relocates it, and resolves the functions it calls by name to
// library_functions(). Throws Error if that fails. Any thread may call it.
LoadedObject load(const MachineObject& object);

}  // namespace aoe
