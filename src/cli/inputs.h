#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "runtime/loaded_model.h"

namespace aoe {

// The options of every command that runs a model.
struct ModelRun {
  std::string model;
  std::vector<std::string> inputs;
  std::string input_shape;
  int threads = 0;
  std::string kernels;
  ImplMode impl;
  uint32_t seed = 0;
};
void add_options(CLI::App& command, ModelRun& run);
LoadOptions load_options(const ModelRun& run);

// The inputs of a model: read from the files that `--input` names ("f.npz" or "name=f.npy", any
// number of them), or random tensors if there are none.
std::map<std::string, Value> inputs_for(const LoadedModel& model,
                                        const std::vector<std::string>& given, uint32_t seed);

}  // namespace aoe
