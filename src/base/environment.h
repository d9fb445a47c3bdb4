#pragma once

#include <functional>
#include <string>

namespace aoe {

// Returns the value of an environment variable, "" if it is unset or empty. Tests pass functions of
// their own.
using Environment = std::function<std::string(const char* name)>;

std::string process_environment(const char* name);

}  // namespace aoe
