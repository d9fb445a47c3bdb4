#include "measure/host/device_lock.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <vector>

#include "base/error.h"
#include "device/system_text.h"

namespace aoe {

namespace fs = std::filesystem;

namespace {

constexpr size_t kLongestText = 4096;
constexpr size_t kLongestCommand = 300;

std::string user_of(uid_t id) {
  std::vector<char> memory(1 << 14);
  passwd entry = {};
  passwd* found = nullptr;
  getpwuid_r(id, &entry, memory.data(), memory.size(), &found);
  return found != nullptr ? found->pw_name : std::to_string(id);
}

LockHolder this_process() {
  std::string command = read_system_text("/proc/self/cmdline").substr(0, kLongestCommand);
  command.erase(command.find_last_not_of('\0') + 1);
  for (char& c : command) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';  // including the NULs between arguments
  }
  return {getpid(), user_of(geteuid()), command,
          fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(std::time(nullptr)))};
}

// Opens or creates the lock file. The folder is world-writable, so the name may belong to a
// symbolic link to a file of this user, a pipe that blocks, or a folder. Only a regular file with a
// single hard link is accepted.
File open_lock_file(const fs::path& file) {
  // Open first and create only if the file is missing: in a sticky folder, O_CREAT on an existing
  // file of another user may be refused (fs.protected_regular). fchmod overrides the umask, so that
  // other users can open the file.
  constexpr int kHow = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  File opened(open(file.c_str(), kHow));
  if (!opened && errno == ENOENT) {
    opened = File(open(file.c_str(), kHow | O_CREAT | O_EXCL, 0666));
    if (opened) fchmod(opened.get(), 0666);
    else if (errno == EEXIST) opened = File(open(file.c_str(), kHow));
  }
  // Read access suffices for flock. Its creator may not have called fchmod yet.
  if (!opened && errno == EACCES) {
    opened = File(open(file.c_str(), (kHow & ~O_ACCMODE) | O_RDONLY));
  }
  require(static_cast<bool>(opened), "the device's lock '{}' cannot be opened: {}", file.string(),
          std::strerror(errno));
  struct stat info = {};
  require(fstat(opened.get(), &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink == 1,
          "the device's lock '{}' is not a plain file; remove it", file.string());
  return opened;
}

// Whether the open file still has this name: a clean-up may have removed it, and then a lock on it
// excludes nobody.
bool is_at(const File& file, const fs::path& name) {
  struct stat opened = {};
  struct stat named = {};
  return fstat(file.get(), &opened) == 0 && lstat(name.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

std::string contents_of(const File& file) {
  std::string text(kLongestText, '\0');
  const ssize_t size = pread(file.get(), text.data(), text.size(), 0);
  text.resize(static_cast<size_t>(std::max<ssize_t>(0, size)));
  return text;
}

}  // namespace

fs::path DeviceLock::shared_folder() {
  const fs::path folder = "/run/lock";
  struct stat info = {};
  const bool for_all = stat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
                       (info.st_mode & (S_IWOTH | S_ISVTX)) == (S_IWOTH | S_ISVTX);
  return for_all ? folder : fs::path("/tmp");
}

DeviceLock::DeviceLock(int device, const fs::path& folder) : file_(-1) {
  const fs::path file = folder / fmt::format("aoe-device-{}.lock", device);
  do {
    file_ = open_lock_file(file);
    if (flock(file_.get(), LOCK_EX | LOCK_NB) == 0) continue;
    require(errno == EWOULDBLOCK, "the device's lock '{}' cannot be taken: {}", file.string(),
            std::strerror(errno));
    fail("device {} is in use by {}: wait until it finishes", device,
         to_string(parse_holder(contents_of(file_))));
  } while (!is_at(file_, file));
  const LockHolder holder = this_process();
  const std::string text = fmt::format("process {}\nuser {}\nsince {}\ncommand {}\n",
                                       holder.process, holder.user, holder.since, holder.command);
  // The text is for messages only; the lock is valid without it.
  if (ftruncate(file_.get(), 0) == 0) static_cast<void>(write_all(file_, text));
}

LockHolder parse_holder(std::string_view text) {
  LockHolder holder;
  for (const std::string& line : split_text(text.substr(0, kLongestText), '\n')) {
    const size_t space = std::min(line.find(' '), line.size());
    const std::string key = line.substr(0, space);
    std::string value = line.substr(std::min(space + 1, line.size()));
    std::erase_if(value, [](char c) { return static_cast<unsigned char>(c) < ' '; });
    if (key == "process") {
      std::from_chars(value.data(), value.data() + value.size(), holder.process);
    } else if (key == "user") {
      holder.user = value;
    } else if (key == "since") {
      holder.since = value;
    } else if (key == "command") {
      holder.command = value;
    }
  }
  return holder;
}

std::string to_string(const LockHolder& holder) {
  std::string text =
      holder.process > 0 ? fmt::format("process {}", holder.process) : "another process";
  if (!holder.user.empty()) text += fmt::format(" of user {}", holder.user);
  if (!holder.command.empty()) text += fmt::format(" ({})", holder.command);
  if (!holder.since.empty()) text += fmt::format(" since {}", holder.since);
  return text;
}

}  // namespace aoe
