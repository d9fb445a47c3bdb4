#include "cli/words.h"

#include <fmt/format.h>

namespace aoe {

std::string size_text(int64_t bytes) {
  if (bytes < 1 << 20) return fmt::format("{:.4g} KiB", static_cast<double>(bytes) / (1 << 10));
  if (bytes < 1 << 30) return fmt::format("{:.4g} MiB", static_cast<double>(bytes) / (1 << 20));
  return fmt::format("{:.4g} GiB", static_cast<double>(bytes) / (1 << 30));
}

std::string count_text(int64_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

}  // namespace aoe
