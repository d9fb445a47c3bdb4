#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace aoe {

// One function as relocatable machine code: an object file.
struct MachineObject {
  std::vector<char> bytes;
  // Instructions in innermost loops that store a vector register to the stack or reload one.
  int spills = 0;

  bool operator==(const MachineObject&) const = default;
};

// An ObjectCache keeps objects in a folder, shared between processes, each in a separate file named
// by a hash of its key.
//
// It is a cache only: any problem (another owner, a full or read-only disk, a damaged file, other
// processes at the same time, a folder that vanishes) is a miss, never an error, and the folder may
// be deleted at any time. Any thread may call it.
//
// Cached code is executed, so the folder must belong to the effective user and be writable by
// nobody else; otherwise nothing is read or written.
class ObjectCache {
 public:
  static constexpr int64_t kMaxBytes = int64_t{256} << 20;

  // An empty path disables the cache. Beyond `max_bytes` on disk, the least recently used objects
  // are removed.
  explicit ObjectCache(std::filesystem::path folder, int64_t max_bytes = kMaxBytes)
      : folder_(std::move(folder)), max_bytes_(max_bytes) {}

  std::optional<MachineObject> find(const std::string& key) const;
  void keep(const std::string& key, const MachineObject& object) const;

 private:
  std::filesystem::path folder_;
  int64_t max_bytes_;
};

// ${XDG_CACHE_HOME:-$HOME/.cache}/aoe/objects, or an empty path where neither variable is an
// absolute path.
std::filesystem::path object_folder();

}  // namespace aoe
