#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "codegen/jit/object_cache.h"

namespace aoe {

// Returns the contents of a file of the object cache: a header, the complete key, the object, and a
// checksum of all that. The key is complete because the name of the file is only its hash.
std::string object_file(const std::string& key, const MachineObject& object);

// Returns nullopt if the file is truncated or damaged, of another version, or for another key.
std::optional<MachineObject> parse_object_file(std::string_view file, const std::string& key);

}  // namespace aoe
