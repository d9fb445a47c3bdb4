#include "codegen/jit/object_file.h"

#include <array>
#include <cstdint>
#include <cstring>

#include "base/hash.h"

namespace aoe {
namespace {

// In the byte order of the machine: with another byte order, the version differs.
struct Header {
  std::array<char, 8> magic{'a', 'o', 'e', ' ', 'c', 'o', 'd', 'e'};
  uint32_t version = 1;
  int32_t spills = 0;
  uint64_t key_bytes = 0;
  uint64_t code_bytes = 0;
};
static_assert(sizeof(Header) == 32);

using Checksum = uint64_t;

}  // namespace

std::string object_file(const std::string& key, const MachineObject& object) {
  const Header header{
      .spills = object.spills, .key_bytes = key.size(), .code_bytes = object.bytes.size()};
  std::string file;
  file.reserve(sizeof header + key.size() + object.bytes.size() + sizeof(Checksum));
  file.append(reinterpret_cast<const char*>(&header), sizeof header);
  file += key;
  file.append(object.bytes.data(), object.bytes.size());
  const Checksum sum = stable_hash(file);
  file.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  return file;
}

std::optional<MachineObject> parse_object_file(std::string_view file, const std::string& key) {
  constexpr size_t kAround = sizeof(Header) + sizeof(Checksum);
  if (file.size() < kAround + key.size()) return std::nullopt;
  Header header;
  std::memcpy(&header, file.data(), sizeof header);
  const Header expected{.spills = header.spills,
                        .key_bytes = key.size(),
                        .code_bytes = file.size() - kAround - key.size()};
  if (std::memcmp(&header, &expected, sizeof header) != 0) return std::nullopt;
  if (file.substr(sizeof header, key.size()) != key) return std::nullopt;
  Checksum sum = 0;
  const std::string_view summed = file.substr(0, file.size() - sizeof sum);
  std::memcpy(&sum, file.data() + summed.size(), sizeof sum);
  if (sum != stable_hash(summed)) return std::nullopt;
  const std::string_view code = summed.substr(sizeof header + key.size());
  return MachineObject{{code.begin(), code.end()}, header.spills};
}

}  // namespace aoe
