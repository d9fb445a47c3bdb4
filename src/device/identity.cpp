#include "device/identity.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace aoe {
namespace {

struct Kind {
  int family;
  int first_model;
  int last_model;
  std::string_view name;
};

// The first entry that matches counts, so a family's last entry may cover the remaining models.
constexpr Kind kIntel[] = {
    {6, 0x0f, 0x0f, "core2"},          {6, 0x16, 0x16, "core2"},
    {6, 0x17, 0x17, "penryn"},         {6, 0x1d, 0x1d, "penryn"},
    {6, 0x1a, 0x1a, "nehalem"},        {6, 0x1e, 0x1f, "nehalem"},
    {6, 0x2e, 0x2e, "nehalem"},        {6, 0x25, 0x25, "westmere"},
    {6, 0x2c, 0x2c, "westmere"},       {6, 0x2f, 0x2f, "westmere"},
    {6, 0x2a, 0x2a, "sandybridge"},    {6, 0x2d, 0x2d, "sandybridge"},
    {6, 0x3a, 0x3a, "ivybridge"},      {6, 0x3e, 0x3e, "ivybridge"},
    {6, 0x3c, 0x3c, "haswell"},        {6, 0x3f, 0x3f, "haswell"},
    {6, 0x45, 0x46, "haswell"},        {6, 0x3d, 0x3d, "broadwell"},
    {6, 0x47, 0x47, "broadwell"},      {6, 0x4f, 0x4f, "broadwell"},
    {6, 0x56, 0x56, "broadwell"},      {6, 0x4e, 0x4e, "skylake"},
    {6, 0x5e, 0x5e, "skylake"},        {6, 0x8e, 0x8e, "skylake"},
    {6, 0x9e, 0x9e, "skylake"},        {6, 0xa5, 0xa6, "skylake"},
    {6, 0x66, 0x66, "cannonlake"},     {6, 0x7d, 0x7e, "icelake-client"},
    {6, 0x6a, 0x6a, "icelake-server"}, {6, 0x6c, 0x6c, "icelake-server"},
    {6, 0x8c, 0x8d, "tigerlake"},      {6, 0xa7, 0xa7, "rocketlake"},
    {6, 0x97, 0x97, "alderlake"},      {6, 0x9a, 0x9a, "alderlake"},
    {6, 0xb7, 0xb7, "raptorlake"},     {6, 0xba, 0xba, "raptorlake"},
    {6, 0xbf, 0xbf, "raptorlake"},     {6, 0xaa, 0xaa, "meteorlake"},
    {6, 0xac, 0xac, "meteorlake"},     {6, 0xb5, 0xb5, "arrowlake"},
    {6, 0xc5, 0xc5, "arrowlake"},      {6, 0xc6, 0xc6, "arrowlake-s"},
    {6, 0xbd, 0xbd, "lunarlake"},      {6, 0xcc, 0xcc, "pantherlake"},
    {6, 0x8f, 0x8f, "sapphirerapids"}, {6, 0xcf, 0xcf, "emeraldrapids"},
    {6, 0xad, 0xad, "graniterapids"},  {6, 0xae, 0xae, "graniterapids-d"},
    {6, 0x37, 0x37, "silvermont"},     {6, 0x4a, 0x4a, "silvermont"},
    {6, 0x4c, 0x4d, "silvermont"},     {6, 0x5a, 0x5a, "silvermont"},
    {6, 0x5d, 0x5d, "silvermont"},     {6, 0x5c, 0x5c, "goldmont"},
    {6, 0x5f, 0x5f, "goldmont"},       {6, 0x7a, 0x7a, "goldmont-plus"},
    {6, 0x86, 0x86, "tremont"},        {6, 0x8a, 0x8a, "tremont"},
    {6, 0x96, 0x96, "tremont"},        {6, 0x9c, 0x9c, "tremont"},
    {6, 0xbe, 0xbe, "gracemont"},      {6, 0xaf, 0xaf, "sierraforest"},
    {6, 0xb6, 0xb6, "grandridge"},     {6, 0xdd, 0xdd, "clearwaterforest"},
};

constexpr Kind kAmd[] = {
    {0x10, 0x00, 0xff, "amdfam10"}, {0x14, 0x00, 0xff, "btver1"}, {0x15, 0x02, 0x02, "bdver2"},
    {0x15, 0x00, 0x0f, "bdver1"},   {0x15, 0x10, 0x1f, "bdver2"}, {0x15, 0x30, 0x3f, "bdver3"},
    {0x15, 0x60, 0x7f, "bdver4"},   {0x16, 0x00, 0xff, "btver2"}, {0x17, 0x00, 0x2f, "znver1"},
    {0x17, 0x30, 0xff, "znver2"},   {0x19, 0x00, 0x0f, "znver3"}, {0x19, 0x10, 0x1f, "znver4"},
    {0x19, 0x20, 0x5f, "znver3"},   {0x19, 0x60, 0xaf, "znver4"}, {0x1a, 0x00, 0x77, "znver5"},
};

// Three generations of Xeon share a model number and differ in the stepping.
std::string_view skylake_server(int stepping) {
  if (stepping >= 10) return "cooperlake";
  return stepping >= 5 ? "cascadelake" : "skylake-avx512";
}

constexpr uint32_t bit(int position) { return uint32_t{1} << position; }

bool all(uint64_t word, uint64_t bits) { return (word & bits) == bits; }

#if defined(__x86_64__)

struct Words {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// All zeros for a leaf that the processor does not have.
Words cpuid(uint32_t leaf) {
  Words words;
  __get_cpuid_count(leaf, 0, &words.eax, &words.ebx, &words.ecx, &words.edx);
  return words;
}

uint64_t saved_state() {
  uint32_t low = 0;
  uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

std::string text_of(std::initializer_list<uint32_t> words) {
  std::string text;
  for (const uint32_t word : words) {
    char letters[sizeof word];
    std::memcpy(letters, &word, sizeof word);
    text.append(letters, sizeof word);
  }
  return text.substr(0, text.find('\0'));
}

// The brand string, without the spaces that some processors have at both ends.
std::string processor_name() {
  std::string name;
  for (const uint32_t leaf : {0x80000002u, 0x80000003u, 0x80000004u}) {
    const Words words = cpuid(leaf);
    name += text_of({words.eax, words.ebx, words.ecx, words.edx});
  }
  const size_t first = name.find_first_not_of(' ');
  if (first == std::string::npos) return "unknown";
  return name.substr(first, name.find_last_not_of(' ') - first + 1);
}

#endif

}  // namespace

Features announced_features(const FeatureWords& words) {
  constexpr uint64_t kVectors = 0x06;      // XCR0: xmm and ymm registers
  constexpr uint64_t kWideVectors = 0xe6;  // and zmm and mask registers
  Features features;
  const bool avx = all(words.leaf1_ecx, bit(27) | bit(28)) && all(words.saved_state, kVectors);
  if (!avx) return features;
  features.set(Feature::fma, all(words.leaf1_ecx, bit(12)));
  features.set(Feature::f16c, all(words.leaf1_ecx, bit(29)));
  features.set(Feature::avx2,
               features.has_all({Feature::fma, Feature::f16c}) && all(words.leaf7_ebx, bit(5)));
  // F, DQ, CD, BW, VL
  const uint32_t avx512 = bit(16) | bit(17) | bit(28) | bit(30) | bit(31);
  features.set(Feature::avx512, features.has(Feature::avx2) && all(words.leaf7_ebx, avx512) &&
                                    all(words.saved_state, kWideVectors));
  return features;
}

Signature Signature::from(uint32_t leaf1_eax) {
  const auto field = [&](int position, int bits) {
    return static_cast<int>(leaf1_eax >> position & ((1u << bits) - 1));
  };
  Signature signature{field(8, 4), field(4, 4), field(0, 4)};
  if (signature.family == 6 || signature.family == 15) signature.model |= field(16, 4) << 4;
  if (signature.family == 15) signature.family += field(20, 8);
  return signature;
}

std::string_view micro_architecture(std::string_view vendor, const Signature& signature) {
  const auto& [family, model, stepping] = signature;
  const auto find = [&](const auto& kinds) -> std::string_view {
    for (const Kind& kind : kinds) {
      if (kind.family == family && kind.first_model <= model && model <= kind.last_model) {
        return kind.name;
      }
    }
    return "generic";
  };
  if (vendor == "GenuineIntel") {
    return family == 6 && model == 0x55 ? skylake_server(stepping) : find(kIntel);
  }
  if (vendor == "AuthenticAMD") return find(kAmd);
  if (vendor == "HygonGenuine" && family == 0x18) return "znver1";  // derived from it
  return "generic";
}

Identity host_identity() {
  Identity identity;
#if defined(__x86_64__)
  const Words first = cpuid(0);
  const Words second = cpuid(1);
  identity.architecture = "x86_64";
  identity.micro_architecture =
      micro_architecture(text_of({first.ebx, first.edx, first.ecx}), Signature::from(second.eax));
  identity.processor = processor_name();
  FeatureWords words{second.ecx, cpuid(7).ebx, 0};
  // Bit 27, OSXSAVE: the system has enabled xgetbv.
  if (words.leaf1_ecx & bit(27)) words.saved_state = saved_state();
  identity.announced = announced_features(words);
#elif defined(__aarch64__)
  identity.architecture = "aarch64";
#endif
  return identity;
}

}  // namespace aoe
