#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "base/error.h"

namespace aoe {

constexpr uid_t kNobody = 65534;

// Runs `work` in a child process that permissions bind: as `nobody` if this process is root's,
// which may do everything. Whatever is in `folder` is given to that user first. Returns whether
// `work` returned true; its reason otherwise goes to standard error.
inline bool true_for_ordinary_user(const std::filesystem::path& folder,
                                   const std::function<bool()>& work) {
  const bool is_root = geteuid() == 0;
  if (is_root) {
    EXPECT_EQ(chown(folder.c_str(), kNobody, kNobody), 0);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      EXPECT_EQ(lchown(entry.path().c_str(), kNobody, kNobody), 0);
    }
  }
  const pid_t child = fork();
  if (child == 0) {
    if (is_root && (setgid(kNobody) != 0 || setuid(kNobody) != 0)) _exit(3);
    try {
      _exit(work() ? 0 : 1);
    } catch (const Error& error) {
      fmt::print(stderr, "{}\n", error.what());
    }
    _exit(2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0;
}

}  // namespace aoe
