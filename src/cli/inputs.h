#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/loaded_model.h"

namespace aoe {

// What a model is given: what `--input` says ("f.npz", or "name=f.npy", any number of them), or
// without any, random tensors.
std::map<std::string, Value> inputs_for(const LoadedModel& model,
                                        const std::vector<std::string>& given, uint32_t seed);

}  // namespace aoe
