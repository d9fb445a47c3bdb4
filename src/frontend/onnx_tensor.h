#pragma once

#include <filesystem>

#include "base/tensor.h"

namespace aoe {

namespace onnx {
class TensorProto;
class SparseTensorProto;
}  // namespace onnx

// Reads the tensors of a model. Large raw contents are taken over from the message, not copied.
class OnnxTensorReader {
 public:
  // Where external data may lie: the model's folder and below. Empty when the model came as
  // bytes, which have no folder.
  explicit OnnxTensorReader(std::filesystem::path folder) : folder_(std::move(folder)) {}

  Tensor read(onnx::TensorProto& proto) const;
  Tensor read(onnx::SparseTensorProto& proto) const;

 private:
  Tensor read_external(const onnx::TensorProto& proto, const TensorType& type) const;

  std::filesystem::path folder_;
};

}  // namespace aoe
