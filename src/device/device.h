#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "device/features.h"

namespace aoe {

// A data cache of one level; a missing one has 0 bytes.
struct Cache {
  int64_t bytes = 0;
  int line_bytes = 0;
  int shared_by = 0;  // number of logical processors that share it

  bool operator==(const Cache&) const = default;
};

// The processor that kernels are made for: everything that code generation and defaults depend on.
struct Device {
  std::string architecture = "generic";        // "x86_64"
  std::string micro_architecture = "generic";  // LLVM's name, "znver4"
  std::string processor = "unknown";           // brand string, "AMD EPYC 9R14"
  // What may differ between two of these processors (device/fingerprint.h).
  std::string fingerprint = "";

  // Features that were verified by executing them, and those that are announced but failed (a
  // hypervisor may mask them incorrectly). Both are empty on architectures other than x86_64.
  Features features;
  Features announced_only;
  int vector_bytes = 16;
  int vector_registers = 16;

  int cores = 1;                // usable by this process, by affinity and quota
  int processors = 1;           // online in the machine
  std::array<Cache, 3> caches;  // L1d, L2, L3
  int64_t memory_bytes = 0;

  // "x86_64_znver4": the name of this kind of processor, which names its bank. It does not include
  // instruction sets.
  std::string soc_version() const { return architecture + "_" + micro_architecture; }
  bool has(Feature feature) const { return features.has(feature); }
  // The verified vector features (kVectorFeatures), narrowest vectors first.
  std::vector<Feature> vector_features() const;
  // The name of the widest of them; "" if there is none.
  std::string_view widest_vectors() const;
  const Cache& last_cache() const;
};

// The host's device, detected by the first call, which executes the announced instructions in a
// child process. Thread-safe.
const Device& host_device();

// The same device without vectors wider than `widest`. Throws Error if it lacks `widest`.
Device narrowed(const Device& device, Feature widest);

}  // namespace aoe
