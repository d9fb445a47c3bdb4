#include "measure/host/device_lock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "base/error.h"
#include "device/system_text.h"
#include "tests/cpp/temporary_folder.h"

namespace aoe {
namespace {

std::string refusal(int device, const std::filesystem::path& folder) {
  try {
    const DeviceLock lock(device, folder);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(DeviceLock, IsFreeWhenItsHolderIsKilled) {
  const TemporaryFolder folder;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t holder = fork();
  if (holder == 0) {
    const DeviceLock lock(0, folder.path());
    const char done = 1;
    if (write(ends[1], &done, 1) != 1) _exit(1);
    for (;;) pause();
  }
  close(ends[1]);
  char done = 0;
  ASSERT_EQ(read(ends[0], &done, 1), 1);
  close(ends[0]);
  const std::string refused = refusal(0, folder.path());
  EXPECT_NE(refused.find("device 0"), std::string::npos) << refused;
  EXPECT_NE(refused.find("process " + std::to_string(holder)), std::string::npos) << refused;
  EXPECT_NE(refused.find(" of user "), std::string::npos) << refused;
  EXPECT_NE(refused.find("aoe_tests"), std::string::npos) << refused;
  EXPECT_NE(refused.find(" since 20"), std::string::npos) << refused;
  EXPECT_EQ(refusal(1, folder.path()), "");  // another device is another matter
  kill(holder, SIGKILL);
  waitpid(holder, nullptr, 0);
  EXPECT_EQ(refusal(0, folder.path()), "");
}

TEST(DeviceLock, IsForEveryUser) {
  const TemporaryFolder folder;
  const mode_t mask = umask(077);
  {
    const DeviceLock lock(0, folder.path());
  }
  umask(mask);
  struct stat info = {};
  ASSERT_EQ(stat((folder.path() / "aoe-device-0.lock").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0666u);
}

TEST(DeviceLock, FollowsNoLinks) {
  const TemporaryFolder folder;
  const std::filesystem::path precious = folder.path() / "precious";
  std::ofstream(precious) << "keep me";
  const std::filesystem::path file = folder.path() / "aoe-device-0.lock";
  std::filesystem::create_symlink(precious, file);
  EXPECT_NE(refusal(0, folder.path()), "");
  std::filesystem::remove(file);
  std::filesystem::create_hard_link(precious, file);
  EXPECT_NE(refusal(0, folder.path()).find("not a plain file"), std::string::npos);
  std::filesystem::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0666), 0);
  EXPECT_NE(refusal(0, folder.path()).find("not a plain file"), std::string::npos);
  EXPECT_EQ(read_system_text(precious), "keep me");
}

TEST(DeviceLock, TakesNobodysWordForTheHolder) {
  const LockHolder holder = parse_holder("process 12\nuser \x1b[31manna\nnonsense\n\ncommand");
  EXPECT_EQ(to_string(holder), "process 12 of user [31manna");
  EXPECT_EQ(to_string(parse_holder("")), "another process");
}

}  // namespace
}  // namespace aoe
