#include "cli/words.h"

#include <fmt/format.h>

namespace aoe {

std::string size_text(int64_t bytes) {
  if (bytes < 1 << 20) return fmt::format("{:.4g} KiB", static_cast<double>(bytes) / (1 << 10));
  if (bytes < 1 << 30) return fmt::format("{:.4g} MiB", static_cast<double>(bytes) / (1 << 20));
  return fmt::format("{:.4g} GiB", static_cast<double>(bytes) / (1 << 30));
}

std::string duration_text(double ns) {
  if (ns < 1e3) return fmt::format("{:.0f} ns", ns);
  return ns < 1e6 ? fmt::format("{:.2f} us", ns / 1e3) : fmt::format("{:.3f} ms", ns / 1e6);
}

std::string share_text(double rate, double roof) {
  return roof > 0 ? fmt::format(" ({:.0f} % of {:.0f})", 100 * rate / roof, roof) : "";
}

std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') quoted += "'\\''";  // a quote cannot stand between quotes
    else quoted += c;
  }
  return quoted + "'";
}

std::string count_text(int64_t count, std::string_view thing) {
  if (count == 1) return fmt::format("1 {}", thing);
  if (thing.ends_with('y'))
    return fmt::format("{} {}ies", count, thing.substr(0, thing.size() - 1));
  return fmt::format("{} {}s", count, thing);
}

}  // namespace aoe
