#pragma once

#include "codegen/cpu_backend.h"
#include "runtime/loaded_model.h"
#include "tests/cpp/onnx_builder.h"

namespace aoe {

// Networks of fixed shapes that cover all kinds of kernels and are large enough for several
// threads.

// Convolutions, a residual, windows, concatenation and split, a product, a softmax.
OnnxBuilder small_convolutional_network();
// Products of values, norms, elementwise chains and a mask of bools.
OnnxBuilder small_attention_network();

// x -> Conv -> a -> two sigmoids, b and c -> their sum, d -> Conv -> y: the layouts of the values
// in between are free.
OnnxBuilder two_convolutions_network();
Graph two_convolutions();  // the simplified graph of it

LoadedModel loaded(const OnnxBuilder& builder, const LoadOptions& options = {},
                   const std::shared_ptr<const Backend>& backend = host_backend());

// Memory of one call: inputs with contents, outputs without.
class CallMemory {
 public:
  explicit CallMemory(const LoadedModel& model, int seed = 0);

  std::span<const TensorView> inputs() const { return inputs_; }
  std::span<const TensorView> outputs() const { return outputs_; }
  // Returns the bytes of all outputs.
  std::string bits() const;

 private:
  std::vector<Tensor> tensors_;
  std::vector<TensorView> inputs_;
  std::vector<TensorView> outputs_;
};

}  // namespace aoe
