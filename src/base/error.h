#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace aoe {

// An error caused by a user's file, input or option. Its message says what was found, where, and
// what is expected. It ends the load or the run; the public interfaces turn it into a value.
class Error : public std::runtime_error {
 public:
  // The message becomes one line: truncated if it is very long, and made printable.
  explicit Error(const std::string& message);

  // The same error prefixed with its place: "conv1 (Conv): kernel_shape is empty".
  Error within(const std::string& place) const { return Error(place + ": " + what()); }
};

template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
void require(bool holds, fmt::format_string<Args...> format, Args&&... args) {
  if (!holds) throw Error(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace aoe
