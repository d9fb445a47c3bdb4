#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/model_options.h"
#include "cli/npy.h"
#include "runtime/loaded_model.h"

namespace aoe {
namespace {

struct RunOptions {
  std::string model;
  std::vector<std::string> inputs;
  std::optional<std::string> output;
  std::string input_shape;
  int threads = 0;
  std::string kernels;
  uint32_t seed = 0;
};

// "min -1.52  mean 0.01  max 2.31"
std::string summary(const Tensor& tensor) {
  if (tensor.dtype() == DType::string || tensor.count() == 0) return "";
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  double sum = 0;
  for (const double x : tensor.to_doubles()) {
    if (x != x) return "holds NaN";
    low = std::min(low, x);
    high = std::max(high, x);
    sum += x;
  }
  return fmt::format("min {:.6g}  mean {:.6g}  max {:.6g}", low,
                     sum / static_cast<double>(tensor.count()), high);
}

void print_value(std::string_view direction, const std::string& name, const Value& value) {
  fmt::print("{:<6} {}  {}  {}\n", direction, printable(name), to_string(value.type()),
             value.is_tensor() ? summary(value.tensor()) : "");
}

void run_loaded(const LoadedModel& model, const RunOptions& options) {
  const std::map<std::string, Value> feeds = inputs_for(model, options.inputs, options.seed);
  for (const auto& [name, value] : feeds) print_value("input", name, value);
  const std::vector<Value> results = model.run(feeds);
  std::map<std::string, Tensor> arrays;
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string& name = model.outputs()[i].name;
    print_value("output", name, results[i]);
    if (!options.output) continue;
    require(results[i].is_tensor(), "output '{}' is {}, which an .npz file cannot hold", name,
            to_string(results[i].type()));
    arrays[name] = results[i].tensor();
  }
  if (const std::string bank = bank_text(model.policies().get()); !bank.empty()) {
    fmt::print("{}\n", bank);
  }
  if (!options.output) return;
  write_npz(*options.output, arrays);
  fmt::print("written to {}\n", *options.output);
}

void run(const RunOptions& options) {
  if (options.output) check_output(*options.output, options.model);
  const LoadedModel model = LoadedModel::from_file(
      options.model, {parse_shapes(options.input_shape), options.threads, options.kernels});
  try {
    run_loaded(model, options);
  } catch (const Error& error) {
    throw error.within(fmt::format("model '{}'", options.model));
  }
}

}  // namespace

void add_run_command(CLI::App& app) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "Run a model and show what goes in and comes out");
  command->add_option("model", options->model, "Model file (.onnx or .om)")->required();
  command
      ->add_option("--input", options->inputs,
                   "Inputs: f.npz, or name=f.npy; may be repeated. Without: seeded random data")
      ->allow_extra_args(false);
  command->add_option("--output", options->output, "Write the outputs to this .npz");
  command->add_option("--input_shape", options->input_shape,
                      "Sizes of symbolic dimensions: \"a:1,3,224,224;b:2\"");
  command->add_option("--threads", options->threads, "Threads to run on; 0: all cores")
      ->check(CLI::Range(0, 1024));
  command->add_option("--kernels", options->kernels,
                      "Kernels for sse2, avx2 or avx512 at most; or reference: none");
  command->add_option("--seed", options->seed, "Seed of the random inputs");
  command->callback([options] { run(*options); });
}

}  // namespace aoe
