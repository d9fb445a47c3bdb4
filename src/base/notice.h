#pragma once

#include <cstdint>
#include <string>

namespace aoe {

// What is said on the error stream: lines of this level and of those before it.
enum class LogLevel : uint8_t { null, error, warning, info, debug };

// Of this process: `warning` unless it is set.
void set_log_level(LogLevel level);
bool is_logged(LogLevel level);

// A line on the error stream, if its level is logged. Shortened and made readable as an Error's
// message is.
void log_line(LogLevel level, const std::string& line);

// A warning: what a user should know though it changes no result.
void notice(const std::string& line);

}  // namespace aoe
