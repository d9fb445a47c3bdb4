// Runs a model on zeros and prints the types and shapes of its outputs:
//   run_model model.onnx

#include <cstdio>

#include "aoe/model.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: run_model MODEL\n");
    return 2;
  }
  const auto model = aoe::Model::load(argv[1]);
  if (!model) {
    std::fprintf(stderr, "%s\n", model.error().c_str());
    return 2;
  }
  std::map<std::string, aoe::Array> inputs;
  for (const aoe::ArrayInfo& info : model->inputs()) {
    if (info.dtype != "float32") {
      std::fprintf(stderr, "input '%s' is %s, not float32\n", info.name.c_str(),
                   info.dtype.c_str());
      return 2;
    }
    // A symbolic dimension is reported as -1; use 1 for it.
    std::vector<int64_t> shape;
    size_t count = 1;
    for (const int64_t size : info.shape) {
      shape.push_back(size < 0 ? 1 : size);
      count *= static_cast<size_t>(shape.back());
    }
    const std::vector<float> zeros(count);
    inputs[info.name] = aoe::Array::of<float>(shape, zeros);
  }
  const auto outputs = model->run(inputs);
  if (!outputs) {
    std::fprintf(stderr, "%s\n", outputs.error().c_str());
    return 1;
  }
  for (const auto& [name, array] : *outputs) {
    std::printf("%s %s [", name.c_str(), array.dtype.c_str());
    for (const int64_t size : array.shape) std::printf(" %lld", static_cast<long long>(size));
    std::printf(" ]\n");
  }
  return 0;
}
