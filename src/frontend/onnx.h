#pragma once

#include <filesystem>
#include <span>

#include "graph/graph.h"

namespace aoe {

// The newest version of the ONNX standard's operators that is understood.
inline constexpr int kNewestOnnxOpset = 28;

// Both fail, with the node and the cause in the message but without the file, on anything that is
// not a sound model.
Graph load_onnx(const std::filesystem::path& file);
Graph parse_onnx(std::span<const std::byte> bytes);

}  // namespace aoe
