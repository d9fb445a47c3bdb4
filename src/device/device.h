#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace aoe {

// The vector instruction sets that kernels are made for, narrowest first; each has all of those
// before it.
enum class InstructionSet {
  sse2,    // part of every x86_64
  avx2,    // AVX2, FMA and F16C
  avx512,  // AVX-512 F, CD, BW, DQ and VL
};

inline constexpr std::array kInstructionSets{InstructionSet::sse2, InstructionSet::avx2,
                                             InstructionSet::avx512};

std::string_view name(InstructionSet set);
std::optional<InstructionSet> instruction_set_named(std::string_view name);
int vector_bytes(InstructionSet set);
int vector_registers(InstructionSet set);

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

  // Those that ran, narrowest first, and those that the processor announces but that did not run
  // (a hypervisor may hide them badly). Both are empty where none of them is known.
  std::vector<InstructionSet> instruction_sets;
  std::vector<InstructionSet> announced_only;
  bool fma = false;
  bool f16c = false;
  int vector_bytes = 16;
  int vector_registers = 16;

  int cores = 1;                // that this process may use: by affinity and by quota
  int processors = 1;           // that the machine runs
  std::array<Cache, 3> caches;  // L1d, L2, L3
  int64_t memory_bytes = 0;

  // "x86_64_znver4": the name under which what was learnt about a kind of machine is kept. It
  // does not say which instruction sets work.
  std::string soc_version() const { return architecture + "_" + micro_architecture; }
  bool has(InstructionSet set) const;
  const Cache& last_cache() const;
};

// The machine at hand, looked at once; any thread may ask. The first call runs the announced
// instructions in a child process.
const Device& host_device();

// The same machine as if `widest` were its widest instruction set. Throws Error if it lacks it.
Device narrowed(const Device& device, InstructionSet widest);

// The machine at hand with vectors no wider than those of "sse2", "avx2" or "avx512", as --kernels
// takes them; empty: as it is. Throws Error for any other word.
Device device_for(const std::string& kernels);

}  // namespace aoe
