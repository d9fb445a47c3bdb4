#pragma once

#include <functional>
#include <string>

namespace aoe {

// What a variable of the environment is set to; nothing where it is not, or set to nothing. Tests
// pass other environments.
using Environment = std::function<std::string(const char* name)>;

std::string process_environment(const char* name);

}  // namespace aoe
