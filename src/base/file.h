#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace aoe {

// Owns the descriptor of a file or folder, or -1 for none, and closes it on destruction.
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
  bool close();  // false if nothing is open or the system reports an error

 private:
  int descriptor_;
};

bool write_all(const File& file, std::string_view bytes);

// Read-only memory and the owner that keeps it alive.
struct Bytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

// Maps a file into memory; pages are read on first access. If the file is modified in place, the
// bytes change too; if it is truncated, access beyond its new end kills the process (SIGBUS). Fails
// unless it is a readable regular file.
Bytes mapped(const std::filesystem::path& file);

// Opens the regular file at `path`, relative to `folder`, for reading. Links are followed, but
// fails unless the file is in the folder or below. The check is of the descriptor that is returned:
// replacing the file or a folder on the way by a link, at any moment, does not defeat it.
File opened_beneath(const std::filesystem::path& folder, const std::filesystem::path& path);

// A name of the open file that is valid as long as the descriptor, whatever happens to its path.
std::string name_in_proc(const File& file);

int64_t size_of(const File& file);

// Reads bytes from `offset` on into all of `bytes`; false if the file is too short or on an error.
bool read_at(const File& file, int64_t offset, std::span<char> bytes);

// The name of a file's owner, if that is neither this process's user nor root. Nothing for a
// missing file.
std::optional<std::string> foreign_owner(const std::filesystem::path& file);

// Whether every user may write to a file, the target of a link, or replace it, because its folder
// or one above is open to all without being sticky. False for a missing file.
bool is_writable_by_all(const std::filesystem::path& file);

// Returns the file that writing to `file` creates or changes: symbolic links are followed, also to
// a target that does not exist yet. Fails for a cycle of links, and if the target exists but is not
// a regular file.
std::filesystem::path written_file(const std::filesystem::path& file);

// A number that others cannot guess, for names of temporary files.
uint64_t random_number();

// Replaces `file` atomically and durably: `write` fills a temporary file beside it, which is then
// synced and renamed to it, so that readers never see a partial file. A symbolic link stays; its
// target is created or replaced. The temporary file is new, whatever others who may write to the
// folder have put there.
void replace_file(const std::filesystem::path& file,
                  const std::function<void(const File& temporary)>& write);

}  // namespace aoe
