#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace aoe {
namespace {

constexpr double kTerminalNs = 0.2e9;  // between updates on a terminal
constexpr double kLineNs = 10e9;       // between lines elsewhere
constexpr const char* kClearLine = "\r\x1b[K";

}  // namespace

Progress::Progress() : terminal_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (terminal_) std::fputs(kClearLine, stderr);
}

void Progress::begin(std::string what) {
  what_ = std::move(what);
  say(what_);
}

void Progress::update(double share) {
  if (steady_ns() - said_ns_ < (terminal_ ? kTerminalNs : kLineNs)) return;
  say(fmt::format("{}: {:.0f} %", what_, 100 * share));
}

void Progress::update(std::string what, double share) {
  what_ = std::move(what);
  update(share);
}

void Progress::say(const std::string& text) {
  said_ns_ = steady_ns();
  if (terminal_) fmt::print(stderr, "{}{}", kClearLine, text);
  else fmt::print(stderr, "{}\n", text);
  std::fflush(stderr);
}

}  // namespace aoe
