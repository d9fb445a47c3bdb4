#include "tune/job/explanation.h"

#include <fmt/format.h>

namespace aoe {

std::string to_string(const Explanation& why) {
  std::string text =
      fmt::format("{:.0f} % -> {:.0f} % of {}", 100 * why.before.share, 100 * why.after.share,
                  why.after.by_operations ? "peak" : "the memory's rate");
  const char* separator = "; ";
  for (const DecisionLoss& one : why.decisions) {
    text += fmt::format("{}{} {} -> {}", separator, one.decision, one.before, one.after);
    if (one.loss) text += fmt::format(" ({:.0f} %)", 100 * *one.loss);
    separator = ", ";
  }
  return text;
}

}  // namespace aoe
