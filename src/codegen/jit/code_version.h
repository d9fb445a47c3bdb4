#pragma once

#include <string_view>

namespace aoe {

// Returns a hash of the sources that turn a loop nest into code. It is part of the key of stored
// code, so that code of another version is never used.
std::string_view code_version();

}  // namespace aoe
