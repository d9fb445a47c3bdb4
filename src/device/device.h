#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "device/features.h"

namespace aoe {

// A data cache of one level. One that is not there has no bytes.
struct Cache {
  int64_t bytes = 0;
  int line_bytes = 0;
  int shared_by = 0;  // processors, as the system counts them, the asking one among them

  bool operator==(const Cache&) const = default;
};

// A machine that kernels run on: what decides how fast code for it should look.
struct Device {
  std::string architecture = "generic";        // "x86_64"
  std::string micro_architecture = "generic";  // "znver4", as LLVM names it
  std::string processor = "unknown";           // "AMD EPYC 9R14", as it calls itself

  // Those that ran, and those that the processor announces but that did not run (a hypervisor may
  // hide them badly). Both are empty where nothing is known of it.
  Features features;
  Features announced_only;
  int vector_bytes = 16;
  int vector_registers = 16;

  int cores = 1;                // that this process may use: by affinity and by quota
  int processors = 1;           // that the machine runs
  std::array<Cache, 3> caches;  // L1d, L2, L3
  int64_t memory_bytes = 0;

  // "x86_64_znver4": the name under which what was learnt about a kind of machine is kept. It
  // does not say which instruction sets work.
  std::string soc_version() const { return architecture + "_" + micro_architecture; }
  bool has(Feature feature) const { return features.has(feature); }
  // Those that kernels can be made for alone, the narrowest vectors first.
  std::vector<Feature> vector_features() const;
  // The widest vectors, by name; nothing where nothing is known of the machine.
  std::string_view widest_vectors() const;
  const Cache& last_cache() const;
};

// The machine at hand, looked at once; any thread may ask. The first call runs the announced
// instructions in a child process.
const Device& host_device();

// The same machine as if it had no wider vectors. Throws Error if it lacks these.
Device narrowed(const Device& device, Feature widest);

}  // namespace aoe
