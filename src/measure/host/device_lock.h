#pragma once

#include <filesystem>
#include <string>

#include "base/file.h"

namespace aoe {

// A DeviceLock is the exclusive right to measure on a device, for one process of any user. It is an
// flock on a file in a folder that all users share, so the system releases it when its holder ends,
// however that happens. The contents of the file describe the holder, for messages only.
class DeviceLock {
 public:
  // Takes the lock, or throws an Error that names the holder: process, user, command, since when.
  // `folder` must be writable by every user; tests pass another one.
  explicit DeviceLock(int device, const std::filesystem::path& folder = shared_folder());

  // /run/lock, or /tmp if /run/lock is not world-writable and sticky.
  static std::filesystem::path shared_folder();

 private:
  File file_;
};

// Description of the holder of a lock: the contents of the lock file.
struct LockHolder {
  int process = 0;
  std::string user;     // "anna", or the user id if it has no name
  std::string command;  // "aoe --model=m.onnx --job_type=2"
  std::string since;    // "2026-11-17 05:31:12 UTC"
};
std::string to_string(const LockHolder& holder);
// Parses the contents of a lock file. Missing fields are empty or 0. The text is untrusted: any
// user may have written it.
LockHolder parse_holder(std::string_view text);

}  // namespace aoe
