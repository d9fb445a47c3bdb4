#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "device/features.h"

namespace aoe {

// Results of cpuid and xgetbv that announce features.
struct FeatureWords {
  uint32_t leaf1_ecx = 0;
  uint32_t leaf7_ebx = 0;
  uint64_t saved_state = 0;  // XCR0: registers that the system saves on a context switch
};

// A feature is announced if the processor reports it and the system saves its registers.
Features announced_features(const FeatureWords& words);

// Family, model and stepping of a processor, decoded from eax of cpuid leaf 1.
struct Signature {
  int family = 0;
  int model = 0;
  int stepping = 0;

  static Signature from(uint32_t leaf1_eax);
};

// LLVM's name of the micro-architecture, "znver4"; "generic" if it is unknown.
std::string_view micro_architecture(std::string_view vendor, const Signature& signature);

// What the host's processor reports about itself. On other architectures than x86_64, only their
// name is known.
struct Identity {
  std::string architecture = "generic";
  std::string micro_architecture = "generic";
  std::string processor = "unknown";
  Features announced;
};

Identity host_identity();

}  // namespace aoe
