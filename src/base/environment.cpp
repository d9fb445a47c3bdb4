#include "base/environment.h"

#include <cstdlib>

namespace aoe {

std::string process_environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace aoe
