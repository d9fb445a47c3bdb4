#pragma once

#include <functional>
#include <string>

#include "base/error.h"

namespace aoe {

// Returns the message of the error that `act` throws.
inline std::string message_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace aoe
