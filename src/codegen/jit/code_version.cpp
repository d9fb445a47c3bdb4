#include "codegen/jit/code_version.h"

// Made by cmake/CodeVersion.cmake.
#include <code_version.inc>

namespace aoe {

std::string_view code_version() { return AOE_CODE_VERSION; }

}  // namespace aoe
