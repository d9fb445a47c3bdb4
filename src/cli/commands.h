#pragma once

#include <CLI/CLI.hpp>

namespace aoe {

// Each adds its sub-command; what it does runs while the command line is parsed, and throws Error
// for what the user has to mend.
void add_compile_command(CLI::App& app);
void add_bank_command(CLI::App& app);
void add_bench_command(CLI::App& app);
void add_devices_command(CLI::App& app);
void add_kernel_command(CLI::App& app);
void add_run_command(CLI::App& app);

}  // namespace aoe
