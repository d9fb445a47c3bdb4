#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace aoe {

// Returns the text as libFuzzer mutates it, at most 64 bytes longer.
inline std::string mutated(const std::string& text) {
  std::vector<uint8_t> bytes(text.begin(), text.end());
  bytes.resize(text.size() + 64);
  bytes.resize(LLVMFuzzerMutate(bytes.data(), text.size(), bytes.size()));
  return {bytes.begin(), bytes.end()};
}

// Copies a mutated file to where libFuzzer wants it; mutates the bytes there if it is too large.
inline size_t placed(const std::string& file, uint8_t* data, size_t size, size_t max_size) {
  if (file.empty() || file.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, file.data(), file.size());
  return file.size();
}

}  // namespace aoe
