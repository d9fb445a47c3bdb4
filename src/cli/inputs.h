#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "runtime/loaded_model.h"

namespace aoe {

// What every command takes that runs a model: the model, how, and on what.
struct ModelRun {
  std::string model;
  std::vector<std::string> inputs;
  std::string input_shape;
  int threads = 0;
  std::string kernels;
  uint32_t seed = 0;
};
void add_options(CLI::App& command, ModelRun& run);
LoadOptions load_options(const ModelRun& run);

// What a model is given: what `--input` says ("f.npz", or "name=f.npy", any number of them), or
// without any, random tensors.
std::map<std::string, Value> inputs_for(const LoadedModel& model,
                                        const std::vector<std::string>& given, uint32_t seed);

}  // namespace aoe
