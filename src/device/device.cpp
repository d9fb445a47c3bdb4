#include "device/device.h"

#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "device/caches.h"
#include "device/cores.h"
#include "device/fingerprint.h"
#include "device/identity.h"
#include "device/probe.h"

namespace aoe {
namespace {

constexpr std::array<std::string_view, kFeatures.size() + 1> kNames{"none", "fma",  "f16c",
                                                                    "sse2", "avx2", "avx512"};

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
  device.fingerprint = host_fingerprint(device.caches);
  device.memory_bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE);
  return device;
}

}  // namespace

std::string_view name(Feature feature) { return kNames[static_cast<size_t>(feature)]; }

std::optional<Feature> vector_feature_named(std::string_view text) {
  for (const Feature feature : kVectorFeatures) {
    if (name(feature) == text) return feature;
  }
  return std::nullopt;
}

int vector_bytes(Feature vectors) {
  return vectors == Feature::avx512 ? 64 : vectors == Feature::avx2 ? 32 : 16;
}

int vector_registers(Feature vectors) { return vectors == Feature::avx512 ? 32 : 16; }

std::vector<Feature> Device::vector_features() const {
  std::vector<Feature> found;
  for (const Feature feature : kVectorFeatures) {
    if (has(feature)) found.push_back(feature);
  }
  return found;
}

std::string_view Device::widest_vectors() const {
  const std::vector<Feature> known = vector_features();
  return known.empty() ? "" : name(known.back());
}

const Cache& Device::last_cache() const {
  if (caches[2].bytes > 0) return caches[2];
  return caches[1].bytes > 0 ? caches[1] : caches[0];
}

const Device& host_device() {
  static const Device device = look_at_host();
  return device;
}

Device narrowed(const Device& device, Feature widest) {
  require(device.has(widest), "{} does not run {}", device.processor, name(widest));
  Device narrow = device;
  narrow.announced_only = {};
  for (const Feature feature : kVectorFeatures) {
    if (vector_bytes(feature) > vector_bytes(widest)) narrow.features.set(feature, false);
  }
  // No processor with vectors of 16 bytes only has these.
  if (widest == Feature::sse2) {
    for (const Feature feature : {Feature::fma, Feature::f16c}) narrow.features.set(feature, false);
  }
  narrow.vector_bytes = vector_bytes(widest);
  narrow.vector_registers = vector_registers(widest);
  return narrow;
}

}  // namespace aoe
