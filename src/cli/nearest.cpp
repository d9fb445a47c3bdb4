#include "cli/nearest.h"

#include <fmt/format.h>

#include <numeric>

namespace aoe {

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

std::string unknown_argument(const CLI::App& app) {
  const std::vector<std::string> unknown = app.remaining(true);
  const std::string& argument = unknown.empty() ? std::string("?") : unknown.front();
  const std::string word = argument.substr(0, argument.find('='));
  std::vector<std::string> known;
  // The innermost command is the one that rejected the argument.
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  for (const CLI::Option* option : command->get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  for (const CLI::App* inner : command->get_subcommands(nullptr)) {
    known.push_back(inner->get_name());
  }
  std::string nearest;
  size_t best = std::string::npos;
  for (const std::string& name : known) {
    const size_t distance = edit_distance(word, name);
    if (distance < best) {
      best = distance;
      nearest = name;
    }
  }
  return fmt::format("unknown argument '{}'; did you mean '{}'? See aoe --help", argument, nearest);
}

}  // namespace aoe
