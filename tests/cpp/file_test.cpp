#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "tests/cpp/error_message.h"
#include "tests/cpp/ordinary_user.h"
#include "tests/cpp/temporary_folder.h"

namespace aoe {
namespace {

namespace fs = std::filesystem;

// A folder `model` with the file `weights` and the folder `sub`, and a file `secret` beside it.
class OpenedBeneathTest : public testing::Test {
 protected:
  OpenedBeneathTest() {
    fs::create_directories(model_ / "sub");
    std::ofstream(model_ / "weights") << "inside";
    std::ofstream(folder_.path() / "secret") << "secret";
  }
  std::string read(const fs::path& path) const { return contents(opened_beneath(model_, path)); }
  static std::string contents(const File& file) {
    std::string bytes(static_cast<size_t>(size_of(file)), '\0');
    EXPECT_TRUE(read_at(file, 0, bytes));
    return bytes;
  }
  std::string refusal(const fs::path& path) const {
    return message_of([&] { opened_beneath(model_, path); });
  }

  TemporaryFolder folder_;
  fs::path model_ = folder_.path() / "model";
};

TEST_F(OpenedBeneathTest, FilesInTheFolderAreReadThroughLinksToo) {
  fs::create_symlink("../weights", model_ / "sub" / "relative");
  fs::create_symlink(model_ / "weights", model_ / "absolute");
  fs::create_symlink(model_, folder_.path() / "other name");
  for (const char* path : {"weights", "./sub/../weights", "sub/relative", "absolute"}) {
    EXPECT_EQ(read(path), "inside") << path;
  }
  EXPECT_EQ(contents(opened_beneath(folder_.path() / "other name", "weights")), "inside");
}

TEST_F(OpenedBeneathTest, NothingElseIsOpened) {
  fs::create_symlink("../secret", model_ / "link");
  fs::create_symlink(folder_.path() / "secret", model_ / "absolute");
  fs::create_symlink("..", model_ / "up");
  fs::create_symlink("link", model_ / "link to a link");
  // A folder whose name only begins like the model's.
  fs::create_directory(folder_.path() / "model2");
  std::ofstream(folder_.path() / "model2" / "secret") << "secret";
  fs::create_symlink("../model2/secret", model_ / "neighbour");
  for (const fs::path& path :
       {fs::path("../secret"), fs::path("../missing"), fs::path("sub/../../secret"),
        folder_.path() / "secret", model_ / "weights", fs::path("link"), fs::path("absolute"),
        fs::path("up/secret"), fs::path("up/model/up/secret"), fs::path("link to a link"),
        fs::path("neighbour")}) {
    EXPECT_NE(refusal(path).find("outside"), std::string::npos) << path << ": " << refusal(path);
  }
  ASSERT_EQ(mkfifo((model_ / "pipe").c_str(), 0600), 0);
  for (const char* path : {"pipe", "sub", ".", ""}) {
    EXPECT_NE(refusal(path), "no error") << path;
  }
  EXPECT_NE(refusal("missing").find("cannot be opened"), std::string::npos);
}

TEST_F(OpenedBeneathTest, WhatWasCheckedIsReadWhateverHappensToThePath) {
  const File opened = opened_beneath(model_, "weights");
  fs::remove(model_ / "weights");
  fs::create_symlink("../secret", model_ / "weights");
  EXPECT_EQ(contents(opened), "inside");
  EXPECT_NE(refusal("weights").find("outside"), std::string::npos);
}

// Another thread swaps the file, and the folder it is in, for links to the outside all the time.
TEST_F(OpenedBeneathTest, ASwapAtAnyMomentLeadsNowhere) {
  std::ofstream(model_ / "sub" / "secret") << "inside";
  fs::create_symlink("../secret", model_ / "link");
  fs::create_symlink("..", model_ / "up");
  std::atomic<bool> done = false;
  std::thread attacker([&] {
    while (!done) {
      renameat2(AT_FDCWD, (model_ / "weights").c_str(), AT_FDCWD, (model_ / "link").c_str(),
                RENAME_EXCHANGE);
      renameat2(AT_FDCWD, (model_ / "sub").c_str(), AT_FDCWD, (model_ / "up").c_str(),
                RENAME_EXCHANGE);
    }
  });
  int refused = 0;
  for (int i = 0; i < 4000; ++i) {
    try {
      EXPECT_EQ(read(i % 2 == 0 ? "weights" : "sub/secret"), "inside");
    } catch (const Error&) {
      ++refused;
    }
  }
  done = true;
  attacker.join();
  RecordProperty("refused", refused);
}

TEST(FileTest, ReadsAllOrFails) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "digits") << "0123456789";
  const File file = opened_beneath(folder.path(), "digits");
  EXPECT_EQ(size_of(file), 10);
  std::string bytes(4, '\0');
  EXPECT_TRUE(read_at(file, 6, bytes));
  EXPECT_EQ(bytes, "6789");
  EXPECT_FALSE(read_at(file, 7, bytes));
}

TEST(FileTest, PermissionsThatLetEverybodyWrite) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "file";
  EXPECT_FALSE(is_writable_by_all(file));
  std::ofstream(file).close();
  struct Row {
    mode_t file;
    mode_t folder;
    bool writable;
  };
  for (const Row& row : {Row{0644, 0755, false}, Row{0664, 0775, false}, Row{0666, 0755, true},
                         Row{0602, 0700, true}, Row{0644, 0777, true}, Row{0644, 01777, false}}) {
    chmod(file.c_str(), row.file);
    chmod(folder.path().c_str(), row.folder);
    EXPECT_EQ(is_writable_by_all(file), row.writable) << std::oct << row.file << " " << row.folder;
  }
}

TEST(FileTest, FoldersAboveAndTargetsOfLinksLetEverybodyReplaceAFile) {
  const TemporaryFolder folder;
  const fs::path open = folder.path() / "open";
  fs::create_directories(open / "inner");
  std::ofstream(open / "inner" / "file").close();
  fs::create_symlink(open / "inner" / "file", folder.path() / "link");
  EXPECT_FALSE(is_writable_by_all(folder.path() / "link"));
  chmod(open.c_str(), 0777);
  EXPECT_TRUE(is_writable_by_all(open / "inner" / "file"));
  EXPECT_TRUE(is_writable_by_all(folder.path() / "link"));
}

TEST(FileTest, ReplacesAFileByANewOne) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "file";
  std::ofstream(file) << "before";
  const auto files = [&] { return std::distance(fs::directory_iterator(folder.path()), {}); };
  replace_file(file, [&](const File& temporary) {
    EXPECT_EQ(size_of(temporary), 0);
    EXPECT_EQ(fs::file_size(file), 6u);
    ASSERT_TRUE(write_all(temporary, "afterwards"));
    EXPECT_EQ(files(), 2);
  });
  EXPECT_EQ(fs::file_size(file), 10u);
  EXPECT_THROW(replace_file(file, [](const File&) { fail("no"); }), Error);
  EXPECT_EQ(fs::file_size(file), 10u);
  EXPECT_EQ(files(), 1);
}

TEST(FileTest, OwnersAreNamedUnlessTheyAreTheUserOrRoot) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "file";
  EXPECT_FALSE(foreign_owner(file));
  std::ofstream(file).close();
  EXPECT_FALSE(foreign_owner(file));
  EXPECT_TRUE(true_for_ordinary_user(folder.path(),
                                     [&] { return !foreign_owner(file) && !foreign_owner("/"); }));
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  EXPECT_EQ(foreign_owner(file), "user nobody (65534)");
  ASSERT_EQ(chown(file.c_str(), 1234567, 0), 0);
  EXPECT_EQ(foreign_owner(file), "user 1234567");
}

}  // namespace
}  // namespace aoe
