#include "base/error.h"

#include "base/utf8.h"

namespace aoe {
namespace {

// Longest message in bytes. Messages quote contents of files: names and attributes of any length.
constexpr size_t kLongest = 2000;

std::string readable(const std::string& message) {
  if (message.size() <= kLongest) return printable(message);
  const size_t half = kLongest / 2;
  return readable(message.substr(0, half)) + " [...] " +
         readable(message.substr(message.size() - half));
}

}  // namespace

Error::Error(const std::string& message) : std::runtime_error(readable(message)) {}

}  // namespace aoe
