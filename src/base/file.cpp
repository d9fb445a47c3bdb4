#include "base/file.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace aoe {

namespace fs = std::filesystem;

namespace {

// The path of an open file or folder, without links.
fs::path real_path(const File& file) {
  std::error_code error;
  fs::path path = fs::read_symlink(name_in_proc(file), error);
  require(!error, "its path cannot be found in /proc: {}", error.message());
  return path;
}

bool is_beneath(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

std::string name_of_user(uid_t user) {
  struct passwd entry = {};
  struct passwd* found = nullptr;
  std::array<char, 4096> texts = {};
  getpwuid_r(user, &entry, texts.data(), texts.size(), &found);
  return found == nullptr ? fmt::format("user {}", user)
                          : fmt::format("user {} ({})", found->pw_name, user);
}

}  // namespace

std::string name_in_proc(const File& file) { return fmt::format("/proc/self/fd/{}", file.get()); }

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

File opened_beneath(const fs::path& folder, const fs::path& path) {
  const auto require_inside = [&](bool inside) {
    require(inside, "it lies outside the folder '{}'", folder.string());
  };
  // Refused before anything is opened, so that the message does not tell what exists elsewhere.
  const fs::path normal = path.lexically_normal();
  require_inside(path.is_relative() && (normal.empty() || *normal.begin() != ".."));
  const File root(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  require(static_cast<bool>(root), "its folder '{}' cannot be opened: {}", folder.string(),
          std::strerror(errno));
  // O_PATH only finds the file: opening a pipe would block, and opening a device can have effects.
  const File found(openat(root.get(), path.c_str(), O_PATH | O_CLOEXEC));
  require(static_cast<bool>(found), "it cannot be opened: {}", std::strerror(errno));
  require_inside(is_beneath(real_path(found), real_path(root)));
  struct stat info = {};
  require(fstat(found.get(), &info) == 0 && S_ISREG(info.st_mode), "it is not a regular file");
  File opened(open(name_in_proc(found).c_str(), O_RDONLY | O_CLOEXEC));
  require(static_cast<bool>(opened), "it cannot be opened: {}", std::strerror(errno));
  return opened;
}

int64_t size_of(const File& file) {
  struct stat info = {};
  require(fstat(file.get(), &info) == 0, "its size is unknown: {}", std::strerror(errno));
  return info.st_size;
}

bool read_at(const File& file, int64_t offset, std::span<char> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = pread(file.get(), bytes.data(), bytes.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(count));
    offset += count;
  }
  return true;
}

std::optional<std::string> foreign_owner(const fs::path& file) {
  struct stat info = {};
  if (stat(file.c_str(), &info) != 0 || info.st_uid == geteuid() || info.st_uid == 0) {
    return std::nullopt;
  }
  return name_of_user(info.st_uid);
}

bool is_writable_by_all(const fs::path& file) {
  std::error_code error;
  const fs::path target = fs::canonical(file, error);
  struct stat info = {};
  if (error || stat(target.c_str(), &info) != 0) return false;
  if ((info.st_mode & S_IWOTH) != 0) return true;
  for (fs::path folder = target.parent_path();; folder = folder.parent_path()) {
    const bool found = stat(folder.c_str(), &info) == 0;
    if (found && (info.st_mode & S_IWOTH) != 0 && (info.st_mode & S_ISVTX) == 0) return true;
    if (!folder.has_relative_path()) return false;
  }
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

uint64_t random_number() {
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) {
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    number =
        static_cast<uint64_t>(now.tv_nsec) * 0x9e3779b97f4a7c15 + static_cast<uint64_t>(getpid());
  }
  return number;
}

void replace_file(const fs::path& file, const std::function<void(const File& temporary)>& write) {
  const fs::path target = written_file(file);
  fs::path beside = target;
  beside += fmt::format(".{:016x}.tmp", random_number());
  constexpr mode_t kDefaultMode = 0666;  // less the umask
  File temporary(open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kDefaultMode));
  require(static_cast<bool>(temporary), "it cannot be written: {}", std::strerror(errno));
  std::error_code error;
  try {
    write(temporary);
    require(fsync(temporary.get()) == 0 && temporary.close(), "it cannot be written: {}",
            std::strerror(errno));
    fs::rename(beside, target, error);
    require(!error, "it cannot be written: {}", error.message());
  } catch (...) {
    fs::remove(beside, error);
    throw;
  }
  const fs::path parent = target.has_parent_path() ? target.parent_path() : fs::path(".");
  const File folder(open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) fsync(folder.get());
}

}  // namespace aoe
