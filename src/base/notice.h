#pragma once

#include <string>

namespace aoe {

// A line on the error stream, for what a user should know though it changes no result. Shortened
// and made readable as an Error's message is.
void notice(const std::string& line);

}  // namespace aoe
