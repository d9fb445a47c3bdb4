#pragma once

#include <cstdint>
#include <string>

namespace aoe {

// How much is logged to standard error: lines of this level and of the levels before it.
enum class LogLevel : uint8_t { null, error, warning, info, debug };

// The level of this process, `warning` by default.
void set_log_level(LogLevel level);
bool is_logged(LogLevel level);

// Writes a line to standard error if its level is logged, truncated and made printable as the
// message of an Error is.
void log_line(LogLevel level, const std::string& line);

// Logs a warning: something that a user should know although it changes no result.
void notice(const std::string& line);

// Logs a warning, unless this process has logged the same one before.
void notice_once(const std::string& line);

}  // namespace aoe
