#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/model_options.h"
#include "cli/npy.h"
#include "codegen/cpu_backend.h"
#include "runtime/loaded_model.h"

namespace aoe {
namespace {

struct RunOptions : ModelRun {
  std::optional<std::string> output;
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
  if (const auto counts = algorithms_of(model); !counts.empty()) {
    fmt::print("algorithms   {}\n", algorithms_text(counts));
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
  const LoadedModel model =
      LoadedModel::from_file(options.model, load_options(options), host_backend());
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
  add_options(*command, *options);
  command->add_option("--output", options->output, "Write the outputs to this .npz");
  command->callback([options] { run(*options); });
}

}  // namespace aoe
