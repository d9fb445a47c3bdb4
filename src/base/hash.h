#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace aoe {

// FNV-1a: the same 64 bits for the same bytes on every machine and in every process, so it may be
// stored. `so_far` continues a hash over bytes that come in parts.
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

}  // namespace aoe
