#pragma once

#include <filesystem>
#include <span>

#include "graph/graph.h"

namespace aoe {

// The newest opset of the ONNX standard that is supported.
inline constexpr int kNewestOnnxOpset = 28;

// Import a model from a file or from its bytes. Both fail if it is not valid; the message has the
// node and the cause, but not the name of the file.
Graph load_onnx(const std::filesystem::path& file);
Graph parse_onnx(std::span<const std::byte> bytes);

}  // namespace aoe
