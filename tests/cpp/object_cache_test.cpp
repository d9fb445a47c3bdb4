#include "codegen/jit/object_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <thread>

#include "codegen/jit/object_file.h"
#include "tests/cpp/temporary_folder.h"

namespace aoe {
namespace {

namespace fs = std::filesystem;
using Files = std::vector<fs::path>;

MachineObject object_of(size_t bytes, char fill = 'x', int spills = 0) {
  return {std::vector<char>(bytes, fill), spills};
}

Files files_in(const fs::path& folder) {
  Files files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

std::string contents(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write(const fs::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

int mode_of(const fs::path& path) {
  struct stat info = {};
  EXPECT_EQ(stat(path.c_str(), &info), 0);
  return static_cast<int>(info.st_mode & 0777);
}

TEST(ObjectFile, EveryDamageIsSeen) {
  const MachineObject object{{'c', 'o', '\0', 'e'}, 3};
  const std::string file = object_file("a key", object);
  EXPECT_EQ(parse_object_file(file, "a key"), object);
  EXPECT_EQ(parse_object_file(file, "another key"), std::nullopt);
  EXPECT_EQ(parse_object_file(file, "b key"), std::nullopt);
  EXPECT_EQ(parse_object_file(file, ""), std::nullopt);
  EXPECT_EQ(parse_object_file(file + " ", "a key"), std::nullopt);
  for (size_t i = 0; i < file.size(); ++i) {
    EXPECT_EQ(parse_object_file(file.substr(0, i), "a key"), std::nullopt) << i;
    std::string damaged = file;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_EQ(parse_object_file(damaged, "a key"), std::nullopt) << i;
  }
}

TEST(ObjectCache, KeepsForTheOwnerAlone) {
  const TemporaryFolder root;
  const fs::path folder = root.path() / "cache" / "aoe" / "objects";
  EXPECT_EQ(ObjectCache(folder).find("key"), std::nullopt);
  const MachineObject object = object_of(100, 'x', 7);
  ObjectCache(folder).keep("key", object);
  EXPECT_EQ(ObjectCache(folder).find("key"), object);
  EXPECT_EQ(ObjectCache(folder).find("other"), std::nullopt);
  EXPECT_EQ(mode_of(root.path() / "cache"), 0700);
  EXPECT_EQ(mode_of(folder), 0700);
  ASSERT_EQ(files_in(folder).size(), 1U);
  EXPECT_EQ(mode_of(files_in(folder)[0]), 0600);
}

TEST(ObjectCache, IsOffWhereOthersMayWrite) {
  const TemporaryFolder root;
  const ObjectCache cache(root.path());
  cache.keep("key", object_of(10));
  for (const int mode : {0770, 0702, 0777}) {
    chmod(root.path().c_str(), static_cast<mode_t>(mode));
    EXPECT_EQ(cache.find("key"), std::nullopt);
    cache.keep("other", object_of(10));
    EXPECT_EQ(files_in(root.path()).size(), 1U);
  }
  chmod(root.path().c_str(), 0755);
  EXPECT_NE(cache.find("key"), std::nullopt);
  chmod(files_in(root.path())[0].c_str(), 0666);
  EXPECT_EQ(cache.find("key"), std::nullopt);
}

TEST(ObjectCache, WhatIsNoFileOfItsOwnIsAMissAndIsReplaced) {
  const TemporaryFolder root;
  const ObjectCache cache(root.path() / "objects");
  cache.keep("key", object_of(5000));
  const fs::path file = files_in(root.path() / "objects")[0];
  const std::string good = contents(file);
  const fs::path elsewhere = root.path() / "elsewhere";
  write(elsewhere, good);
  const std::vector<std::function<void()>> damages{
      [&] { write(file, good.substr(0, 4096)); },
      [&] { write(file, ""); },
      [&] { write(file, std::string(good.size(), '\0')); },
      [&] { write(file, object_file("a key with the same hash", object_of(10))); },
      [&] { fs::resize_file(file, uint64_t{1} << 40); },
      [&] { fs::remove(file), fs::create_symlink(elsewhere, file); },
      [&] { fs::remove(file), mkfifo(file.c_str(), 0600); },
  };
  for (size_t i = 0; i < damages.size(); ++i) {
    damages[i]();
    EXPECT_EQ(cache.find("key"), std::nullopt) << i;
    cache.keep("key", object_of(5000));
    EXPECT_EQ(cache.find("key"), object_of(5000)) << i;
  }
  EXPECT_EQ(contents(elsewhere), good);
}

TEST(ObjectCache, AFolderThatCannotBeIsNoError) {
  for (const char* folder : {"", "/dev/null/objects", "/proc/aoe/objects", "/proc/self"}) {
    const ObjectCache cache(folder);
    cache.keep("key", object_of(10));
    EXPECT_EQ(cache.find("key"), std::nullopt);
  }
  const TemporaryFolder root;
  const ObjectCache cache(root.path() / "objects");
  cache.keep("key", object_of(10));
  fs::remove_all(root.path() / "objects");
  EXPECT_EQ(cache.find("key"), std::nullopt);
  cache.keep("key", object_of(10));
  EXPECT_EQ(cache.find("key"), object_of(10));
}

TEST(ObjectCache, RemovesWhatWasNotUsedForLongest) {
  const TemporaryFolder root;
  const ObjectCache cache(root.path(), /*max_bytes=*/10 * 4096);
  const auto hours_old = [&](const fs::path& file, int hours) {
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  write(root.path() / "notes.txt", "somebody else's");
  hours_old(root.path() / "notes.txt", 1000);
  const fs::path unfinished = root.path() / "0123456789abcdef.0123456789abcdef";
  write(unfinished, "half of a file");
  hours_old(unfinished, 2);

  for (int i = 0; i < 10; ++i) {
    const Files before = files_in(root.path());
    cache.keep(std::to_string(i), object_of(1000));
    for (const fs::path& file : files_in(root.path())) {
      if (std::find(before.begin(), before.end(), file) == before.end()) hours_old(file, 100 - i);
    }
  }
  EXPECT_FALSE(fs::exists(unfinished));
  EXPECT_NE(cache.find("0"), std::nullopt);
  cache.keep("10", object_of(1000));
  EXPECT_NE(cache.find("0"), std::nullopt) << "it was used a moment ago";
  EXPECT_EQ(cache.find("1"), std::nullopt);
  EXPECT_EQ(cache.find("2"), std::nullopt);
  EXPECT_EQ(cache.find("3"), std::nullopt);
  EXPECT_NE(cache.find("4"), std::nullopt);
  EXPECT_NE(cache.find("10"), std::nullopt);
  EXPECT_TRUE(fs::exists(root.path() / "notes.txt"));
}

TEST(ObjectCache, ManyMayUseItAtOnce) {
  const TemporaryFolder root;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      // Small enough that the threads evict each other's files.
      const ObjectCache cache(root.path() / "objects", /*max_bytes=*/6 * 4096);
      for (int i = 0; i < 100; ++i) {
        const std::string key = std::to_string((i + t) % 10);
        const MachineObject object = object_of(5000, key[0]);
        if (const auto found = cache.find(key)) EXPECT_EQ(*found, object);
        else cache.keep(key, object);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ObjectCache, FolderFollowsTheEnvironment) {
  struct Case {
    const char* cache_home;
    const char* home;
    std::string folder;
  };
  const std::vector<Case> cases{
      {"/a", "/b", "/a/aoe/objects"},
      {nullptr, "/b", "/b/.cache/aoe/objects"},
      {"", "/b", "/b/.cache/aoe/objects"},
      {"relative", "/b", "/b/.cache/aoe/objects"},
      {nullptr, nullptr, ""},
      {nullptr, "relative", ""},
  };
  const auto set = [](const char* name, const char* value) {
    if (value == nullptr) unsetenv(name);
    else setenv(name, value, 1);
  };
  const char* const home = getenv("HOME");
  const std::string home_before = home == nullptr ? "" : home;
  const std::string cache_before = getenv("XDG_CACHE_HOME");
  for (const Case& c : cases) {
    set("XDG_CACHE_HOME", c.cache_home);
    set("HOME", c.home);
    EXPECT_EQ(object_folder(), c.folder);
  }
  set("XDG_CACHE_HOME", cache_before.c_str());
  set("HOME", home == nullptr ? nullptr : home_before.c_str());
}

}  // namespace
}  // namespace aoe
