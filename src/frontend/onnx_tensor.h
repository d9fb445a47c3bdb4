#pragma once

#include <filesystem>

#include "base/tensor.h"

namespace aoe {

namespace onnx {
class TensorProto;
class SparseTensorProto;
}  // namespace onnx

// Reads the tensors of a model. Large raw contents are moved out of the message, not copied.
class OnnxTensorReader {
 public:
  // External data is read only from `folder`, the model's, and folders below it. It is empty for a
  // model that was passed as bytes.
  explicit OnnxTensorReader(std::filesystem::path folder) : folder_(std::move(folder)) {}

  Tensor read(onnx::TensorProto& proto) const;
  Tensor read(onnx::SparseTensorProto& proto) const;

 private:
  Tensor read_external(const onnx::TensorProto& proto, const TensorType& type) const;

  std::filesystem::path folder_;
};

}  // namespace aoe
