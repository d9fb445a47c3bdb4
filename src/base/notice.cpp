#include "base/notice.h"

#include <atomic>
#include <cstdio>
#include <mutex>
#include <set>

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

void notice_once(const std::string& line) {
  static std::mutex mutex;
  static std::set<std::string> logged_lines;
  const std::lock_guard lock(mutex);
  if (logged_lines.insert(line).second) notice(line);
}

}  // namespace aoe
