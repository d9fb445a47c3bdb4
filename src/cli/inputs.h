#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

#include "runtime/loaded_model.h"

namespace aoe {

// What a model is given: what `--input` says ("f.npz", or "name=f.npy", any number of them), or
// without any, random tensors.
std::map<std::string, Value> inputs_for(const LoadedModel& model,
                                        const std::vector<std::string>& given, uint32_t seed);

// Normal floats; integers from {0, 1}, so that indices stay in range. Not of strings.
Tensor random_tensor(const TensorType& type, std::mt19937& random);

}  // namespace aoe
