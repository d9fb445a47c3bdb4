#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace aoe {

// A descriptor of a file or folder, or -1; closed with this.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() { close(); }
  File(File&& other) noexcept : descriptor_(other.release()) {}
  File& operator=(File&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

  explicit operator bool() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }
  int release() { return std::exchange(descriptor_, -1); }
  bool close();

 private:
  int descriptor_;
};

bool write_all(const File& file, std::string_view bytes);

// Memory, and who keeps it alive.
struct Bytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

// A file's contents, mapped: nothing is read that nobody looks at. Whoever changes the file in
// place changes them, and whoever shortens it ends a process that looks at what is gone. Fails
// unless it is a regular file that can be read.
Bytes mapped(const std::filesystem::path& file);

// What writing `file` writes: links followed, also to what is not there yet. Fails for a loop of
// them, and for what exists and is no regular file.
std::filesystem::path written_file(const std::filesystem::path& file);

// Calls `write` for a file beside `file` that then takes its place: what is there is always whole.
// A link stays, what it points at is made or replaced.
void replace_file(const std::filesystem::path& file,
                  const std::function<void(const std::filesystem::path& beside)>& write);

}  // namespace aoe
