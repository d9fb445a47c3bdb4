#pragma once

#include <CLI/CLI.hpp>

namespace aoe {

// `aoe bank measure MODEL`.
void add_bank_measure_command(CLI::App& bank);

}  // namespace aoe
