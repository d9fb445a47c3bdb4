#include "cli/commands.h"
#include "cli/model_options.h"
#include "cli/words.h"
#include "codegen/cpu_backend.h"
#include "runtime/loaded_model.h"

namespace aoe {
namespace {

struct CompileOptions {
  std::string model;
  std::string output;
  std::string input_shape;
  int threads = 0;
  std::string kernels;
  ImplMode impl;
};

void compile_model(const CompileOptions& options) {
  const std::string output = om_output(options.output, options.model);
  const auto [model, policies] =
      LoadedModel::compiled(options.model,
                            {.input_shapes = parse_shapes(options.input_shape),
                             .threads = options.threads,
                             .kernels = options.kernels,
                             .impl = options.impl},
                            host_backend());
  const int64_t bytes = write_om(output, model);
  const auto count = [](size_t number, std::string_view thing) {
    return count_text(static_cast<int64_t>(number), thing);
  };
  fmt::print("written to {}: {}, {}, ", output, size_text(bytes),
             count(model.graph.nodes.size(), "node"));
  const size_t graphs = policies ? policies->task_times_found().size() : 0;
  if (model.policies.empty()) {
    fmt::print("no policies\n");
  } else {
    fmt::print("policies of {} for {} with {} on {}\n",
               count(model.policies.size() - graphs, "workload"), model.soc_version,
               model.instruction_set, count_text(model.threads, "thread"));
  }
  if (const std::string bank = bank_text(policies.get()); !bank.empty()) {
    fmt::print("{}\n", bank);
  }
}

}  // namespace

void add_compile_command(CLI::App& app) {
  auto options = std::make_shared<CompileOptions>();
  CLI::App* command =
      app.add_subcommand("compile", "Make an .om file of a model, which loads faster");
  command->add_option("model", options->model, "Model file (.onnx or .om)")->required();
  command->add_option("-o,--output", options->output, "The file to write; .om is appended")
      ->required();
  command->add_option("--input_shape", options->input_shape,
                      "Sizes of symbolic dimensions: \"a:1,3,224,224;b:2\"");
  command->add_option("--threads", options->threads, "Threads to work on; 0: all cores")
      ->check(CLI::Range(0, 1024));
  command->add_option("--kernels", options->kernels,
                      "Policies for sse2, avx2 or avx512 at most; or reference: none");
  add_impl_options(*command, options->impl);
  command->callback([options] { compile_model(*options); });
}

}  // namespace aoe
