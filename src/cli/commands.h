#pragma once

#include <CLI/CLI.hpp>

namespace aoe {

// Each adds its sub-command; what it does runs while the command line is parsed, and throws Error
// for what the user has to mend.
void add_compile_command(CLI::App& app);
void add_bank_command(CLI::App& app);
void add_bench_command(CLI::App& app);
void add_devices_command(CLI::App& app);
void add_run_command(CLI::App& app);
void add_worker_command(CLI::App& app);

// Sets the exit code where a kernel computes something else than the reference.
void add_kernel_command(CLI::App& app, int& exit_code);

// The options of tuning, which is what `aoe` does without a sub-command; after the sub-commands,
// which exclude them. Sets the exit code of a job.
void add_tune_options(CLI::App& app, int& exit_code);

}  // namespace aoe
