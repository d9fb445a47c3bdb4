#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/interpreter.h"
#include "codegen/cpu_backend.h"

namespace aoe {

// The instruction sets that this machine has, each as a device.
inline std::vector<Device> host_devices() {
  std::vector<Device> devices;
  for (const Feature set : host_device().vector_features()) {
    devices.push_back(narrowed(host_device(), set));
  }
  return devices;
}

struct NamedBackend {
  std::string name;
  std::shared_ptr<const Backend> backend;
};

// All backends for a device. The interpreter is first: a failure of both is a bug of the Program, a
// failure of machine code alone a bug of code generation.
inline std::vector<NamedBackend> backends_for(const Device& device) {
  return {{"interpreter", interpreter_backend(device)}, {"machine code", cpu_backend(device)}};
}

}  // namespace aoe
