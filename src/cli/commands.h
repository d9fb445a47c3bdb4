#pragma once

#include <CLI/CLI.hpp>

namespace aoe {

// Each adds its sub-command to the command line. The command runs while the command line is parsed,
// and throws Error for problems that the user can fix.
void add_compile_command(CLI::App& app);
void add_bank_command(CLI::App& app);
void add_bench_command(CLI::App& app);
void add_devices_command(CLI::App& app);
void add_run_command(CLI::App& app);
void add_worker_command(CLI::App& app);

// Sets the exit code to 1 if a kernel does not match the reference.
void add_kernel_command(CLI::App& app, int& exit_code);

// Adds the options of tuning, which is what `aoe` does without a sub-command. Must be called after
// the sub-commands were added, because they exclude these options. Sets the exit code of a job.
void add_tune_options(CLI::App& app, int& exit_code);

}  // namespace aoe
