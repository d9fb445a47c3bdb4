#pragma once

#include <array>
#include <cstdint>

#include "base/file.h"
#include "base/hash.h"
#include "frontend/om.h"

namespace aoe {

// The layout of .om files, shared by reader and writer; docs/om.md describes it.

// No text begins with the first byte, and a transfer that converts line ends damages the rest.
using OmMagic = std::array<unsigned char, 8>;
inline constexpr OmMagic kOmMagic{0x89, 'a', 'o', 'm', '\r', '\n', 0x1a, '\n'};

inline constexpr uint64_t kOmVersion = 2;

// Numbers are little-endian.
struct OmHeader {
  OmMagic magic = kOmMagic;
  uint64_t version = kOmVersion;
  uint64_t structure_bytes = 0;
  uint64_t checksum = 0;  // of the structure and its padding, started from structure_bytes
};
static_assert(sizeof(OmHeader) == 32);

// Weights begin at multiples of this: the size of a cache line and of the widest vectors.
inline constexpr int64_t kOmAlignment = 64;

// Limit of protocol buffers.
inline constexpr uint64_t kMostOmStructure = (uint64_t{1} << 31) - 1;

// Limit of nested subgraphs: reading and running them recurses.
inline constexpr int kMostOmNesting = 64;

// Checksum of the structure; `front` is the file up to its first weight.
inline uint64_t om_checksum(std::span<const std::byte> front, const OmHeader& header) {
  return checksum(front.subspan(sizeof header), header.structure_bytes);
}

constexpr int64_t om_aligned(int64_t bytes) {
  return (bytes + kOmAlignment - 1) / kOmAlignment * kOmAlignment;
}

}  // namespace aoe
