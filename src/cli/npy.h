#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/tensor.h"

namespace aoe {

// Arrays in numpy's file formats. Element types that numpy lacks (bfloat16 and smaller) are written
// as raw bytes ("V2", "V1"), as numpy itself does; `expected` is the type of such bytes on reading.
Tensor read_npy(const std::filesystem::path& file, std::optional<DType> expected);

// All arrays of an .npz, by name.
std::map<std::string, Tensor> read_npz(const std::filesystem::path& file,
                                       const std::map<std::string, DType>& expected);

// Writes a temporary file and renames it, so that `file` is never incomplete.
void write_npz(const std::filesystem::path& file, const std::map<std::string, Tensor>& arrays);

}  // namespace aoe
