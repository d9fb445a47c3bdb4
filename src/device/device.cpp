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

void set_vectors(Device& device, InstructionSet widest) {
  device.vector_bytes = 16 << static_cast<int>(widest);
  device.vector_registers = widest == InstructionSet::avx512 ? 32 : 16;
}

void set_features(Device& device, const Features& announced) {
  const Features working = working_features(announced);
  device.fma = working.fma;
  device.f16c = working.f16c;
  device.instruction_sets = {InstructionSet::sse2};
  const auto add = [&](InstructionSet set, bool promised, bool works) {
    if (works) device.instruction_sets.push_back(set);
    else if (promised) device.announced_only.push_back(set);
  };
  add(InstructionSet::avx2, announced.avx2, working.avx2);
  add(InstructionSet::avx512, announced.avx512, working.avx512);
  set_vectors(device, device.instruction_sets.back());
}

Device look_at_host() {
  const Identity identity = host_identity();
  Device device;
  device.architecture = identity.architecture;
  device.micro_architecture = identity.micro_architecture;
  device.processor = identity.processor;
  if (identity.architecture == "x86_64") set_features(device, identity.announced);
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
  set_vectors(narrow, widest);
  return narrow;
}

}  // namespace aoe
