#pragma once

#include <array>
#include <cstdint>

#include "base/file.h"
#include "base/hash.h"
#include "frontend/om.h"

namespace aoe {

// What the reader and the writer of .om files share: docs/om.md describes the file.

// The first byte is none of a text's, and the line ends show what changes them in transfer.
using OmMagic = std::array<unsigned char, 8>;
inline constexpr OmMagic kOmMagic{0x89, 'a', 'o', 'm', '\r', '\n', 0x1a, '\n'};

inline constexpr uint64_t kOmVersion = 2;

// Numbers are little-endian.
struct OmHeader {
  OmMagic magic = kOmMagic;
  uint64_t version = kOmVersion;
  uint64_t structure_bytes = 0;
  uint64_t checksum = 0;  // of the structure and the zeros that follow it, from its size on
};
static_assert(sizeof(OmHeader) == 32);

// Weights begin at multiples of it: a cache line, and a vector of the widest machines.
inline constexpr int64_t kOmAlignment = 64;

// The most that the messages' encoding can have.
inline constexpr uint64_t kMostOmStructure = (uint64_t{1} << 31) - 1;

// Subgraphs inside subgraphs take stack, of whoever reads and of whoever runs them.
inline constexpr int kMostOmNesting = 64;

// Of the file from its start to its first weight.
inline uint64_t om_checksum(std::span<const std::byte> front, const OmHeader& header) {
  return checksum(front.subspan(sizeof header), header.structure_bytes);
}

constexpr int64_t om_aligned(int64_t bytes) {
  return (bytes + kOmAlignment - 1) / kOmAlignment * kOmAlignment;
}

}  // namespace aoe
