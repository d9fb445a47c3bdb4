#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace aoe {

// The message about an unknown argument: names it and a similar option or command.
std::string unknown_argument(const CLI::App& app);

}  // namespace aoe
