#include "bank/transfer_seeds.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "bank/entry.h"

namespace aoe {
namespace {

constexpr size_t kMost = 3;

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '%' || c == '$' || c == '#' ||
         c == '@' || c == '_';
}

// A text with its numbers replaced by 0, and the numbers. Digits in names (%1, f32, h8) do not
// count as numbers.
struct Taken {
  std::string rest;
  std::vector<double> numbers;
};

Taken taken_apart(const std::string& text) {
  Taken taken;
  for (size_t at = 0; at < text.size();) {
    const bool begins = at == 0 || !is_word(text[at - 1]);
    double number = 0;
    const char* const first = text.data() + at;
    if (begins && std::isdigit(static_cast<unsigned char>(*first)) != 0) {
      const auto [end, error] = std::from_chars(first, text.data() + text.size(), number);
      if (error == std::errc{}) {
        taken.numbers.push_back(number);
        taken.rest += '0';
        at += static_cast<size_t>(end - first);
        continue;
      }
    }
    taken.rest += text[at++];
  }
  return taken;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::abs(std::log2((a[i] + 1) / (b[i] + 1)));
  return sum;
}

}  // namespace

std::string operator_text(const std::string& workload) { return taken_apart(workload).rest; }

std::string family_of(const std::string& workload) { return key_text(operator_text(workload)); }

std::vector<TransferSeed> transfer_seeds(const std::string& workload,
                                         const std::vector<TransferSeed>& known) {
  const Taken wanted = taken_apart(workload);
  std::vector<std::pair<double, const TransferSeed*>> found;
  for (const TransferSeed& one : known) {
    if (one.workload == workload) continue;
    const Taken other = taken_apart(one.workload);
    if (other.rest == wanted.rest)
      found.emplace_back(distance(wanted.numbers, other.numbers), &one);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  found.resize(std::min(found.size(), kMost));
  std::vector<TransferSeed> nearest;
  for (const auto& [_, one] : found) nearest.push_back(*one);
  return nearest;
}

}  // namespace aoe
