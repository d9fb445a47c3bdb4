#include "cli/inputs.h"

#include "cli/model_options.h"
#include "cli/npy.h"
#include "measure/worker/random_tensor.h"

namespace aoe {

namespace {

// The position of the '=' in "name=file". Names and files may contain '=' too, so the longest name
// that is an input counts.
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
      require(port.type.dtype != DType::string,
              "strings cannot be generated at random; give them with --input");
      feeds[port.name] = random_tensor(port.type.tensor(), random);
    } catch (const Error& error) {
      throw error.within(fmt::format("input '{}'", port.name));
    }
  }
  return feeds;
}

}  // namespace

std::map<std::string, Value> inputs_for(const LoadedModel& model,
                                        const std::vector<std::string>& given, uint32_t seed) {
  return given.empty() ? random_inputs(model, seed) : read_inputs(given, model);
}

void add_options(CLI::App& command, ModelRun& run) {
  command.add_option("model", run.model, "Model file (.onnx or .om)")->required();
  command
      .add_option("--input", run.inputs,
                  "Inputs: f.npz, or name=f.npy; may be repeated. Without: seeded random data")
      ->allow_extra_args(false);
  command.add_option("--input_shape", run.input_shape,
                     "Sizes of symbolic dimensions: \"a:1,3,224,224;b:2\"");
  command.add_option("--threads", run.threads, "Threads to run on; 0: all cores")
      ->check(CLI::Range(0, 1024));
  command.add_option("--kernels", run.kernels,
                     "Kernels for sse2, avx2 or avx512 at most; or reference: none");
  add_impl_options(command, run.impl);
  command.add_option("--seed", run.seed, "Seed of the random inputs");
}

LoadOptions load_options(const ModelRun& run) {
  return {.input_shapes = parse_shapes(run.input_shape),
          .threads = run.threads,
          .kernels = run.kernels,
          .impl = run.impl};
}

}  // namespace aoe
