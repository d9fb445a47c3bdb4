#include "base/notice.h"

#include <atomic>
#include <cstdio>

#include "base/error.h"

namespace aoe {
namespace {

std::atomic<LogLevel> logged = LogLevel::warning;

}  // namespace

void set_log_level(LogLevel level) { logged = level; }

bool is_logged(LogLevel level) { return level <= logged.load(); }

void log_line(LogLevel level, const std::string& line) {
  if (is_logged(level)) fmt::print(stderr, "aoe: {}\n", Error(line).what());
}

void notice(const std::string& line) { log_line(LogLevel::warning, line); }

}  // namespace aoe
