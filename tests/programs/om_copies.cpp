// Writes .om files as `aoe compile` does, many in one process: reads paths of models, one per line,
// writes PATH.om next to each, and prints an empty line or the error.

#include <iostream>

#include "codegen/cpu_backend.h"
#include "runtime/loaded_model.h"

int main() {
  for (std::string path; std::getline(std::cin, path);) {
    try {
      aoe::write_om(path + ".om", aoe::LoadedModel::compiled(path, {}, aoe::host_backend()).model);
      std::cout << std::endl;
    } catch (const aoe::Error& error) {
      std::cout << error.what() << std::endl;
    }
  }
  return 0;
}
