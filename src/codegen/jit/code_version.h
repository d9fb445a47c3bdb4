#pragma once

#include <string_view>

namespace aoe {

// A hash of the sources that turn a loop nest into code. Stored code of another version is of no
// use, however small the difference.
std::string_view code_version();

}  // namespace aoe
