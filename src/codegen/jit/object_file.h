#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "codegen/jit/object_cache.h"

namespace aoe {

// The contents of a file of the object cache: a header, the whole key, the object, and a checksum
// of all that. The key is there in full because a file's name is only its hash.
std::string object_file(const std::string& key, const MachineObject& object);

// None if the file is short or damaged, of another version, or has another key.
std::optional<MachineObject> parse_object_file(std::string_view file, const std::string& key);

}  // namespace aoe
