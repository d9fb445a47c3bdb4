#include "base/suggestion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <vector>

namespace aoe {
namespace {

// Levenshtein distance: number of single-character edits that turn one word into the other.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

std::string lower(std::string_view word) {
  std::string result(word);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

}  // namespace

std::string did_you_mean(std::string_view word, std::span<const std::string> known) {
  const std::string* nearest = nullptr;
  size_t best = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& name : known) {
    const size_t distance = edit_distance(lower(word), lower(name));
    if (distance < best) {
      best = distance;
      nearest = &name;
    }
  }
  return nearest == nullptr ? "" : fmt::format("; did you mean '{}'?", *nearest);
}

}  // namespace aoe
