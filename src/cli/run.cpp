#include <random>

#include "cli/commands.h"
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

// The position of the '=' in "name=file": names and files may hold some of their own, so the
// longest name that is an input counts.
size_t name_end(const std::string& text, const std::map<std::string, DType>& expected) {
  size_t found = text.find('=');
  for (size_t at = found; at != std::string::npos; at = text.find('=', at + 1)) {
    if (expected.contains(text.substr(0, at))) found = at;
  }
  return found;
}

std::map<std::string, Value> read_inputs(const std::vector<std::string>& inputs,
                                         const LoadedModel& model) {
  std::map<std::string, DType> expected;
  for (const Port& port : model.inputs()) {
    if (port.type.dtype) expected[port.name] = *port.type.dtype;
  }
  std::map<std::string, Value> feeds;
  const auto give = [&](const std::string& name, Tensor tensor) {
    require(feeds.emplace(name, std::move(tensor)).second, "--input gives '{}' twice", name);
  };
  for (const std::string& input : inputs) {
    const size_t equals = name_end(input, expected);
    if (equals == std::string::npos) {
      require(input.ends_with(".npz"),
              "--input '{}': a .npy file needs the name of its input: --input name={}", input,
              input);
      for (auto& [name, tensor] : read_npz(input, expected)) give(name, std::move(tensor));
      continue;
    }
    const std::string name = input.substr(0, equals);
    const auto known = expected.find(name);
    give(name, read_npy(input.substr(equals + 1),
                        known == expected.end() ? std::nullopt : std::optional(known->second)));
  }
  return feeds;
}

// Normal floats; integers from {0, 1}, so that indices stay in range.
Tensor random_tensor(const TensorType& type, std::mt19937& random) {
  require(type.dtype != DType::string, "random strings would mean nothing; give them with --input");
  Tensor tensor(type);
  dispatch(type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* elements = tensor.data<T>();
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < tensor.count(); ++i) {
      if (is_float(type.dtype)) elements[i] = static_cast<T>(normal(random));
      else elements[i] = static_cast<T>(static_cast<int64_t>(random() & 1));
    }
  });
  return tensor;
}

std::map<std::string, Value> random_inputs(const LoadedModel& model, uint32_t seed) {
  std::mt19937 random(seed);
  std::map<std::string, Value> feeds;
  for (const Port& port : model.inputs()) {
    if (port.type.kind == ValueType::Kind::optional) continue;
    require(
        port.type.is_static(),
        "input '{}' is {}: fix its shape with --input_shape \"{}:...\", or give it with --input",
        port.name, port.describe(), port.name);
    try {
      feeds[port.name] = random_tensor(port.type.tensor(), random);
    } catch (const Error& error) {
      throw error.within(fmt::format("input '{}'", port.name));
    }
  }
  return feeds;
}

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
  fmt::print("{:<6} {}  {}  {}\n", direction, name, to_string(value.type()),
             value.is_tensor() ? summary(value.tensor()) : "");
}

void run_loaded(const LoadedModel& model, const RunOptions& options) {
  const std::map<std::string, Value> feeds = options.inputs.empty()
                                                 ? random_inputs(model, options.seed)
                                                 : read_inputs(options.inputs, model);
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
