#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <random>

#include "backend/kernel.h"
#include "base/error.h"
#include "base/parallel.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/words.h"
#include "codegen/cpu_backend.h"
#include "device/measure.h"
#include "expr/parse.h"
#include "measure/statistics/intervals.h"
#include "measure/statistics/rounds.h"
#include "measure/worker/difference.h"
#include "measure/worker/numeric_check.h"
#include "measure/worker/random_tensor.h"
#include "policy/policy_text.h"

namespace aoe {
namespace {

using Listing = CompiledProgram::Listing;

struct KernelOptions {
  std::string workload;
  std::optional<std::string> policy;
  std::string emit;
  bool time = false;
  int threads = 1;
  std::string kernels;
  uint32_t seed = 0;
};

constexpr size_t kLongestText = 1 << 20;
constexpr double kTimingSeconds = 0.5;

std::string read_all(std::istream& stream) {
  std::string text;
  char part[4096];
  while (stream.read(part, sizeof part), stream.gcount() > 0) {
    text.append(part, static_cast<size_t>(stream.gcount()));
    require(text.size() <= kLongestText, "the text has more than {} bytes", kLongestText);
  }
  return text;
}

// The text that an argument stands for: standard input for "-", a file for "@file", otherwise the
// argument itself, with the two characters "\n" as line ends.
std::string text_of(const std::string& argument) {
  if (argument == "-") return read_all(std::cin);
  if (argument.starts_with('@')) {
    const std::string file = argument.substr(1);
    std::ifstream stream(file, std::ios::binary);
    const std::string text = stream ? read_all(stream) : "";
    require(stream.eof(), "'{}' cannot be read", file);
    return text;
  }
  std::string text = argument;
  for (size_t at = text.find("\\n"); at != std::string::npos; at = text.find("\\n", at)) {
    text.replace(at, 2, "\n");
  }
  return text;
}

struct Problem {
  std::vector<Tensor> inputs;
  std::vector<Tensor> weights;
};

// Random inputs of a workload. Without `all` only the weights, which suffice to make a kernel.
Problem problem_of(const Workload& workload, uint32_t seed, bool all) {
  std::mt19937 random(seed);
  Problem problem;
  for (const int id : workload.inputs) {
    const Workload::Value& value = workload.values[static_cast<size_t>(id)];
    const bool wanted = all || value.weight;
    require(value.type.dtype != DType::string, "kernels have no strings");
    problem.inputs.push_back(wanted ? random_tensor(value.type, random) : Tensor{});
    problem.weights.push_back(value.weight ? problem.inputs.back() : Tensor{});
  }
  return problem;
}

struct Comparison {
  std::string text;  // the largest difference from the reference
  std::optional<Failure> wrong;
};

// Compares results with the reference, unless that would take too long.
Comparison compared(const std::shared_ptr<const Workload>& workload, const Problem& problem,
                    const std::vector<Tensor>& outputs, int threads) {
  constexpr int64_t kLongWork = int64_t{1} << 31;  // takes the reference seconds
  constexpr int64_t kTooMuchWork = int64_t{1} << 34;
  const int64_t work = work_of(*workload);
  if (work > kTooMuchWork) return {"not looked at: the reference would take too long", {}};
  if (work > kLongWork) fmt::print(stderr, "computing the reference, which takes a while\n");
  const std::vector<Tensor> expected = Evaluator(workload).run(problem.inputs, threads);
  const Difference error = difference_of(outputs, expected);
  return {fmt::format("{:.3g} at most, of numbers up to {:.3g}", error.largest, error.of),
          mismatch_of(*workload, problem.inputs, outputs, expected, threads)};
}

// Prints times, rates and differences. False if a result does not match the reference.
bool print_times(const std::shared_ptr<const Workload>& workload, const Kernel& kernel,
                 const Device& device, const Problem& problem, int threads) {
  std::vector<Tensor> outputs;
  for (const int id : workload->outputs) {
    outputs.emplace_back(workload->values[static_cast<size_t>(id)].type);
  }
  kernel.run_into(problem.inputs, outputs);
  const Comparison comparison = compared(workload, problem, outputs, device.cores);
  const HelpersAwake helpers(threads);
  const ParticipantTimes turns = measure_rounds({[&] { kernel.run_into(problem.inputs, outputs); }},
                                                {.seconds = kTimingSeconds})[0];
  const double median_ns = median_of(turns.medians_ns).median;
  const Rates roofs = measure_rates(device, std::min(threads, device.cores));
  const double gflops = operations_of(*workload) / median_ns;
  const double gbps = bytes_of(*workload) / median_ns;
  fmt::print("time    median {}, minimum {}, of {} runs, {}\n", duration_text(median_ns),
             duration_text(turns.minimum_ns), turns.calls, count_text(threads, "thread"));
  fmt::print("rate    {:.4g} GFLOP/s{}, {:.4g} GB/s{}\n", gflops,
             share_text(gflops, roofs.fma_gflops), gbps, share_text(gbps, roofs.copy_gbps));
  fmt::print("error   {}\n", comparison.text);
  if (kernel.spills() > 0) fmt::print("spills  {} in inner loops\n", kernel.spills());
  if (comparison.wrong) fmt::print("wrong   {}\n", comparison.wrong->detail);
  return !comparison.wrong;
}

// Runs the command; returns its exit code.
int show_kernel(const KernelOptions& options) {
  const auto backend = backend_for(host_backend(), options.kernels);
  require(backend != nullptr, "--kernels is '{}'; sse2, avx2 or avx512 is expected",
          options.kernels);
  const Device& device = backend->device();
  const auto workload = std::make_shared<const Workload>(parse_workload(text_of(options.workload)));
  int threads = options.threads == 0 ? device.cores : options.threads;
  const Policy policy = options.policy ? parse_policy(text_of(*options.policy), *workload, device)
                                       : default_policy(*workload, device);
  const std::string text = to_string(policy, *workload);
  const Problem problem = problem_of(*workload, options.seed, options.time);
  const Kernel kernel(workload, policy, *backend, threads, problem.weights);
  if (options.emit == "policy") fmt::print("{}", text);
  else if (options.emit == "program") fmt::print("{}", to_string(kernel.program()));
  else if (options.emit == "llvm") fmt::print("{}", kernel.compiled().listing(Listing::llvm));
  else if (options.emit == "asm") fmt::print("{}", kernel.compiled().listing(Listing::assembly));
  else fmt::print("key {:016x}\n\n{}\n{}", key_of(*workload), text, to_string(kernel.program()));
  if (!options.time) return 0;
  if (policy.threads > 0) threads = std::min(threads, policy.threads);
  std::fflush(stdout);  // show this before the measurement, which takes a while
  if (options.emit.empty()) fmt::print("\n");
  return print_times(workload, kernel, device, problem, threads) ? 0 : 1;
}

}  // namespace

void add_kernel_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<KernelOptions>();
  CLI::App* command = app.add_subcommand("kernel", "Show, check and time what a workload becomes");
  command
      ->add_option("workload", options->workload,
                   "The workload's text (\\n ends a line), @file, or - for standard input")
      ->required();
  command->add_option("--policy", options->policy,
                      "The policy's text (; ends a line), or @file. Without: the default");
  command->add_option("--emit", options->emit, "Print only this: policy, program, llvm or asm")
      ->check(CLI::IsMember({"policy", "program", "llvm", "asm"}));
  command->add_flag("--time", options->time, "Check it against the reference and time it");
  command->add_option("--threads", options->threads, "Threads to run on; 0: all cores")
      ->check(CLI::Range(0, 1024));
  command->add_option("--kernels", options->kernels, "For sse2, avx2 or avx512 at most");
  command->add_option("--seed", options->seed, "Seed of the random inputs");
  command->callback([options, &exit_code] { exit_code = show_kernel(*options); });
}

}  // namespace aoe
