#pragma once

#include <filesystem>
#include <string>

#include "base/file.h"

namespace aoe {

// The right to measure on a device: one process at a time, whichever user's. The lock is the
// system's on a file in a folder that all users share, so it is free the moment its holder ends,
// however it ends. What the file says of the holder is for messages only.
class DeviceLock {
 public:
  // Takes it, or throws Error that names who has it: process, user, command, since when. `folder`
  // is one that every user may write to; tests use another one.
  explicit DeviceLock(int device, const std::filesystem::path& folder = shared_folder());

  // /run/lock, or /tmp where that is not for everyone.
  static std::filesystem::path shared_folder();

 private:
  File file_;
};

// How a holder is told of, and what the file says.
struct LockHolder {
  int process = 0;
  std::string user;     // "anna", or its number where it has no name
  std::string command;  // "aoe --model=m.onnx --job_type=2"
  std::string since;    // "2026-11-17 05:31:12 UTC"
};
std::string to_string(const LockHolder& holder);
// What can be read in it; the rest is empty or 0. Anybody may have written the text.
LockHolder parse_holder(std::string_view text);

}  // namespace aoe
