#pragma once

#include <CLI/CLI.hpp>

namespace aoe {

// The sub-commands of `aoe bank`, one function for each file.
void add_bank_list_commands(CLI::App& bank);    // ls, show, check
void add_bank_merge_commands(CLI::App& bank);   // merge, export, import, diff
void add_bank_remove_commands(CLI::App& bank);  // rm, prune
void add_bank_measure_command(CLI::App& bank);

}  // namespace aoe
