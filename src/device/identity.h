#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "device/features.h"

namespace aoe {

// The words of cpuid and xgetbv that say which features there are.
struct FeatureWords {
  uint32_t leaf1_ecx = 0;
  uint32_t leaf7_ebx = 0;
  uint64_t saved_state = 0;  // registers that the system keeps when it switches threads: XCR0
};

// A feature is announced if the processor has it and the system keeps its registers.
Features announced_features(const FeatureWords& words);

// A processor's make, from the word that cpuid's leaf 1 leaves in eax.
struct Signature {
  int family = 0;
  int model = 0;
  int stepping = 0;

  static Signature from(uint32_t leaf1_eax);
};

// LLVM's name for the kind of processor, "znver4"; "generic" for one that is not known.
std::string_view micro_architecture(std::string_view vendor, const Signature& signature);

// What the processor at hand says of itself. Nothing is known of one that is no x86_64.
struct Identity {
  std::string architecture = "generic";
  std::string micro_architecture = "generic";
  std::string processor = "unknown";
  Features announced;
};

Identity host_identity();

}  // namespace aoe
