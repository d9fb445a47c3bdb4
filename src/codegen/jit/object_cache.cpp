#include "codegen/jit/object_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

#include "base/environment.h"
#include "base/file.h"
#include "base/hash.h"
#include "codegen/jit/object_file.h"

namespace aoe {
namespace {

namespace fs = std::filesystem;

// Larger files are neither read nor written. A file holds a key (the text of a loop nest) and an
// object of at most 1 MB (kMaxObjectBytes in compiler.cpp).
constexpr int64_t kMaxFileBytes = 16 << 20;
// A sweep leaves so many eighths of the bound, so that the next one is not due at once.
constexpr int64_t kLeftEighths = 7;
// Age in seconds from which an unfinished file counts as abandoned by its writer.
constexpr time_t kAbandoned = 3600;
constexpr size_t kNameLength = 16;  // hexadecimal digits

bool only_ours(const struct stat& info) {
  return info.st_uid == geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Opens the folder if only this user can write to it. All accesses go through its descriptor, so
// that a folder that is exchanged after the check is not used.
File opened_folder(const fs::path& folder) {
  if (folder.empty()) return File(-1);
  File opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat info = {};
  if (!opened || fstat(opened.get(), &info) != 0 || !only_ours(info)) return File(-1);
  return opened;
}

void make_folders(const fs::path& folder) {
  fs::path made;
  for (const fs::path& part : folder) {
    made /= part;
    if (mkdir(made.c_str(), S_IRWXU) != 0 && errno != EEXIST) return;
  }
}

std::string file_name(const std::string& key) { return fmt::format("{:016x}", stable_hash(key)); }

// Reads instead of mapping: truncating a mapped file in another process would kill this one.
std::optional<std::string> read_all(int file, int64_t size) {
  std::string bytes(static_cast<size_t>(size), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = read(file, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    done += static_cast<size_t>(count);
  }
  return bytes;
}

// Whether the limit on file sizes allows a file of so many bytes: a write beyond it kills the
// process, unless it ignores SIGXFSZ.
bool may_write(size_t bytes) {
  rlimit limit = {};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
         (limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur);
}

// Files take whole blocks.
int64_t disk_bytes(int64_t file_bytes) {
  constexpr int64_t kBlock = 4096;
  return (file_bytes + kBlock - 1) / kBlock * kBlock;
}

struct Kept {
  std::string name;
  int64_t bytes = 0;   // on disk
  timespec used = {};  // last use: `find` updates the modification time
};

// Lists the files of the cache and deletes abandoned unfinished ones. Files with other names are
// left alone.
std::vector<Kept> kept_files(int folder) {
  std::vector<Kept> found;
  // A separate descriptor: closedir closes it.
  File again(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* const listing = again ? fdopendir(again.get()) : nullptr;
  if (listing == nullptr) return found;
  again.release();
  while (const dirent* entry = readdir(listing)) {
    const std::string_view name = entry->d_name;
    const size_t digits = std::min(name.find_first_not_of("0123456789abcdef"), name.size());
    if (digits != kNameLength) continue;
    struct stat info = {};
    if (fstatat(folder, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISREG(info.st_mode)) continue;
    const std::string_view rest = name.substr(kNameLength);
    if (rest.empty()) {
      found.push_back({std::string(name), disk_bytes(info.st_size), info.st_mtim});
    } else if (rest.starts_with(".") && rest.size() == 1 + kNameLength &&
               info.st_mtim.tv_sec + kAbandoned < time(nullptr)) {
      unlinkat(folder, entry->d_name, 0);
    }
  }
  closedir(listing);
  return found;
}

void sweep(int folder, int64_t max_bytes) {
  std::vector<Kept> files = kept_files(folder);
  int64_t total = 0;
  for (const Kept& file : files) total += file.bytes;
  if (total <= max_bytes) return;
  std::sort(files.begin(), files.end(), [](const Kept& a, const Kept& b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
  });
  for (const Kept& file : files) {
    if (total <= max_bytes / 8 * kLeftEighths) return;
    // The result does not matter: another process may have removed the file.
    unlinkat(folder, file.name.c_str(), 0);
    total -= file.bytes;
  }
}

fs::path absolute_path_in(const char* variable) {
  fs::path path = process_environment(variable);
  return path.is_absolute() ? path : fs::path();
}

}  // namespace

std::optional<MachineObject> ObjectCache::find(const std::string& key) const {
  const File folder = opened_folder(folder_);
  if (!folder) return std::nullopt;
  const File file(
      openat(folder.get(), file_name(key).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info = {};
  if (!file || fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) || !only_ours(info) ||
      info.st_size > kMaxFileBytes) {
    return std::nullopt;
  }
  const std::optional<std::string> bytes = read_all(file.get(), info.st_size);
  if (!bytes) return std::nullopt;
  std::optional<MachineObject> object = parse_object_file(*bytes, key);
  if (object) futimens(file.get(), nullptr);
  return object;
}

void ObjectCache::keep(const std::string& key, const MachineObject& object) const {
  File folder = opened_folder(folder_);
  if (!folder) {
    if (folder_.empty()) return;
    make_folders(folder_);
    folder = opened_folder(folder_);
  }
  if (!folder) return;
  const std::string bytes = object_file(key, object);
  if (static_cast<int64_t>(bytes.size()) > kMaxFileBytes || !may_write(bytes.size())) return;

  // Written under another name and renamed, so that nobody reads an incomplete file.
  const uint64_t number = random_number();
  const std::string name = file_name(key);
  const std::string beside = fmt::format("{}.{:016x}", name, number);
  File file(openat(folder.get(), beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                   S_IRUSR | S_IWUSR));
  if (!file) return;
  const bool written = write_all(file, bytes) && file.close();
  if (!written || renameat(folder.get(), beside.c_str(), folder.get(), name.c_str()) != 0) {
    unlinkat(folder.get(), beside.c_str(), 0);
    return;
  }
  // Sweeps at random, on average once for every sixteenth of the bound that all processes together
  // write, so that they need not communicate.
  const int64_t chances = max_bytes_ / 16 / disk_bytes(static_cast<int64_t>(bytes.size()));
  if (chances == 0 || number % static_cast<uint64_t>(chances) == 0) sweep(folder.get(), max_bytes_);
}

fs::path object_folder() {
  fs::path base = absolute_path_in("XDG_CACHE_HOME");
  if (base.empty()) {
    const fs::path home = absolute_path_in("HOME");
    if (home.empty()) return {};
    base = home / ".cache";
  }
  return base / "aoe" / "objects";
}

}  // namespace aoe
