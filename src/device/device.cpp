#include "device/device.h"

#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "device/caches.h"
#include "device/cores.h"
#include "device/identity.h"
#include "device/probe.h"

namespace aoe {
namespace {

constexpr std::array<std::string_view, kInstructionSets.size()> kNames{"sse2", "avx2", "avx512"};

Device look_at_host() {
  const Identity identity = host_identity();
  Device device;
  device.architecture = identity.architecture;
  device.micro_architecture = identity.micro_architecture;
  device.processor = identity.processor;
  if (identity.architecture == "x86_64") {
    set_features(device, identity.announced, working_features(identity.announced));
  }
  device.cores = usable_cores();
  device.processors = std::max(device.cores, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
  device.caches = host_caches(allowed_cpus().front(), device.processors);
  device.memory_bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE);
  return device;
}

}  // namespace

std::string_view name(InstructionSet set) { return kNames[static_cast<size_t>(set)]; }

std::optional<InstructionSet> instruction_set_named(std::string_view text) {
  for (const InstructionSet set : kInstructionSets) {
    if (name(set) == text) return set;
  }
  return std::nullopt;
}

int vector_bytes(InstructionSet set) { return 16 << static_cast<int>(set); }

int vector_registers(InstructionSet set) { return set == InstructionSet::avx512 ? 32 : 16; }

bool Device::has(InstructionSet set) const {
  return std::find(instruction_sets.begin(), instruction_sets.end(), set) != instruction_sets.end();
}

const Cache& Device::last_cache() const {
  if (caches[2].bytes > 0) return caches[2];
  return caches[1].bytes > 0 ? caches[1] : caches[0];
}

const Device& host_device() {
  static const Device device = look_at_host();
  return device;
}

Device narrowed(const Device& device, InstructionSet widest) {
  require(device.has(widest), "{} does not run {}", device.processor, name(widest));
  Device narrow = device;
  std::erase_if(narrow.instruction_sets, [&](InstructionSet set) { return set > widest; });
  narrow.announced_only.clear();
  if (widest == InstructionSet::sse2) narrow.fma = narrow.f16c = false;
  narrow.vector_bytes = vector_bytes(widest);
  narrow.vector_registers = vector_registers(widest);
  return narrow;
}

Device device_for(const std::string& kernels) {
  if (kernels.empty()) return host_device();
  const auto set = instruction_set_named(kernels);
  require(set.has_value(), "--kernels is '{}'; sse2, avx2 or avx512 is expected", kernels);
  return narrowed(host_device(), *set);
}

}  // namespace aoe
