#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace aoe {

// The message about an unknown argument: names it and the most similar option or command.
std::string unknown_argument(const CLI::App& app);

// Levenshtein distance: number of single-character edits that turn one word into the other.
size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace aoe
