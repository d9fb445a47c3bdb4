#include "cli/nearest.h"

#include <fmt/format.h>

#include "base/suggestion.h"

namespace aoe {

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
  const std::string similar = did_you_mean(word, known);
  return fmt::format("unknown argument '{}'{} See aoe --help", argument,
                     similar.empty() ? "." : similar);
}

}  // namespace aoe
