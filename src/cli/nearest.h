#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace aoe {

// The message for a command line with an argument nobody asked for: names it and the option or
// command that comes closest.
std::string unknown_argument(const CLI::App& app);

// Single-character edits that turn one word into the other.
size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace aoe
