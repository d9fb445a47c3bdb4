#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace aoe {

// The only file in a folder of its own, in memory if the system has such a place: for readers that
// take a path. The destructor removes the folder.
class ScratchFile {
 public:
  ScratchFile() {
    std::error_code error;
    const bool in_memory = std::filesystem::is_directory("/dev/shm", error);
    std::string name = in_memory ? "/dev/shm/aoe_fuzz_XXXXXX" : "/tmp/aoe_fuzz_XXXXXX";
    if (mkdtemp(name.data()) == nullptr) std::abort();
    folder_ = name;
  }
  ~ScratchFile() { std::filesystem::remove_all(folder_); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  std::filesystem::path path() const { return folder_ / "file"; }

  // Removes the file, and what a reader has left beside it.
  void clear() const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      std::filesystem::remove(entry.path());
    }
  }
  void write(const uint8_t* data, size_t size) const {
    clear();
    std::ofstream(path(), std::ios::binary)
        .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  }
  std::string read() const {
    std::ifstream stream(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace aoe
