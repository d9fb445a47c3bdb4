#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace aoe {

// 64-bit FNV-1a. It depends on the bytes only, not on machine or process, so it may be stored.
// `so_far` is the hash of the preceding bytes, for input that comes in parts.
inline constexpr uint64_t kHashStart = 0xcbf29ce484222325;

inline uint64_t stable_hash(std::span<const std::byte> bytes, uint64_t so_far = kHashStart) {
  for (const std::byte byte : bytes) {
    so_far = (so_far ^ static_cast<uint64_t>(byte)) * 0x100000001b3;
  }
  return so_far;
}

inline uint64_t stable_hash(std::string_view text, uint64_t so_far = kHashStart) {
  return stable_hash(std::as_bytes(std::span(text)), so_far);
}

// Checksum that detects damage in large data at memory speed: eight words at once, each in a
// separate chain. Every step is a bijection, so a change of any single word changes the result. It
// does not depend on the process, so it may be stored. Zeros that pad the last block to 64 bytes do
// not change it; `start` does.
inline uint64_t checksum(std::span<const std::byte> bytes, uint64_t start = 0) {
  static_assert(std::endian::native == std::endian::little, "words are read as they lie");
  constexpr uint64_t kFactor = 0x9e3779b97f4a7c15;
  const auto mixed = [](uint64_t so_far, uint64_t word) {
    return std::rotl((so_far ^ word) * kFactor, 29);
  };
  using Block = std::array<uint64_t, 8>;
  Block chains;
  for (size_t i = 0; i < chains.size(); ++i) chains[i] = kHashStart + start + i;
  Block block;
  for (; bytes.size() >= sizeof block; bytes = bytes.subspan(sizeof block)) {
    std::memcpy(block.data(), bytes.data(), sizeof block);
    for (size_t i = 0; i < chains.size(); ++i) chains[i] = mixed(chains[i], block[i]);
  }
  if (!bytes.empty()) {
    block = {};
    std::memcpy(block.data(), bytes.data(), bytes.size());
    for (size_t i = 0; i < chains.size(); ++i) chains[i] = mixed(chains[i], block[i]);
  }
  uint64_t result = kHashStart;
  for (const uint64_t chain : chains) result = mixed(result, chain);
  return result ^ (result >> 32);
}

}  // namespace aoe
