#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace aoe {

namespace fs = std::filesystem;

bool File::close() { return descriptor_ >= 0 && ::close(release()) == 0; }

bool write_all(const File& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

Bytes mapped(const fs::path& file) {
  // O_NONBLOCK: opening a pipe without a writer would block.
  const File opened(open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  require(static_cast<bool>(opened), "it cannot be opened: {}", std::strerror(errno));
  struct stat info = {};
  require(fstat(opened.get(), &info) == 0 && S_ISREG(info.st_mode), "it is not a regular file");
  const auto size = static_cast<size_t>(info.st_size);
  if (size == 0) return {};
  void* const memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, opened.get(), 0);
  require(memory != MAP_FAILED, "it cannot be mapped into memory: {}", std::strerror(errno));
  return {{static_cast<const std::byte*>(memory), size},
          {memory, [size](void* gone) { munmap(gone, size); }}};
}

fs::path written_file(const fs::path& file) {
  constexpr int kMostLinks = 40;  // Linux's own limit
  fs::path target = file;
  std::error_code error;
  for (int links = 0; fs::is_symlink(fs::symlink_status(target, error)); ++links) {
    require(links < kMostLinks, "it is a link that leads to no file");
    const fs::path next = fs::read_symlink(target, error);
    require(!error, "its link cannot be read: {}", error.message());
    target = target.parent_path() / next;
  }
  const fs::file_status status = fs::status(target, error);
  require(!fs::exists(status) || fs::is_regular_file(status), "it is not a regular file");
  return target;
}

void replace_file(const fs::path& file, const std::function<void(const fs::path& beside)>& write) {
  const fs::path target = written_file(file);
  fs::path beside = target;
  beside += fmt::format(".{}.tmp", getpid());
  std::error_code error;
  try {
    write(beside);
    fs::rename(beside, target, error);
    require(!error, "it cannot be written: {}", error.message());
  } catch (...) {
    fs::remove(beside, error);
    throw;
  }
}

}  // namespace aoe
