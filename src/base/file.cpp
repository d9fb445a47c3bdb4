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
  // Without waiting: it may be a pipe that nobody writes to.
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

void replace_file(const fs::path& file, const std::function<void(const fs::path& beside)>& write) {
  std::error_code error;
  fs::path target = fs::weakly_canonical(file, error);
  if (error) target = file;
  fs::path beside = target;
  beside += fmt::format(".{}.tmp", getpid());
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
