#include "bank/bank.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <random>
#include <thread>

#include "bank/places.h"
#include "base/error.h"
#include "expr/parse.h"
#include "tests/cpp/bank_entries.h"
#include "tests/cpp/error_message.h"
#include "tests/cpp/ordinary_user.h"
#include "tests/cpp/plain_sqlite.h"
#include "tests/cpp/temporary_folder.h"

namespace aoe {
namespace {

namespace fs = std::filesystem;

class BankTest : public testing::Test {
 protected:
  Bank writable() const { return Bank::for_writing(file_, kSomeTarget.soc_version); }
  Bank readable() const { return std::move(Bank::for_reading(file_).value()); }
  LookupResult find(int number) const {
    return readable().find({max_workload(number)}, kSomeTarget)[0];
  }
  void change(const std::string& sql) const { Database(file_, Database::Access::write).run(sql); }

  TemporaryFolder folder_;
  fs::path file_ = folder_.path() / "some" / "where" / "op.db";
};

// Runs `work` in a child process and returns its exit status.
int in_child(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      work();
    } catch (const Error&) {
      _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST_F(BankTest, GivesBackWhatItWasGiven) {
  EXPECT_TRUE(writable().put(some_entry(), std::nullopt));
  EXPECT_EQ(find(0).entry, some_entry());
  EXPECT_EQ(find(1).entry, std::nullopt);
  EXPECT_TRUE(find(1).problems.empty());
  EXPECT_TRUE(problems_of(readable()).empty());
}

TEST_F(BankTest, OtherVectorsAndThreadsAreOtherTargets) {
  writable().put(some_entry(), std::nullopt);
  Target narrow = kSomeTarget;
  narrow.instruction_set = "avx2";
  Target alone = kSomeTarget;
  alone.threads = 1;
  for (const Target& target : {narrow, alone}) {
    EXPECT_FALSE(readable().find({max_workload(0)}, target)[0].entry);
    BankEntry entry = some_entry();
    entry.target = target;
    EXPECT_TRUE(writable().put(entry, std::nullopt));
    EXPECT_EQ(readable().find({max_workload(0)}, target)[0].entry, entry);
  }
  EXPECT_EQ(readable().entries().size(), 3U);
}

TEST_F(BankTest, ReplacesOnlyWhatItWasProvenAgainst) {
  Bank bank = writable();
  const BankEntry first = some_entry();
  BankEntry second = first;
  second.policy = "loops outer=1 [r:16x4]\n";
  second.total_low = first.total_low * second.gain.speedup_low;
  BankEntry third = second;
  third.policy = "loops outer=1 [r:16x2]\n";
  EXPECT_TRUE(bank.put(first, std::nullopt));
  EXPECT_FALSE(bank.put(second, std::nullopt));
  EXPECT_EQ(find(0).entry, first);
  EXPECT_TRUE(bank.put(second, first.policy));
  EXPECT_FALSE(bank.put(third, first.policy));
  EXPECT_EQ(find(0).entry, second);
  EXPECT_EQ(readable().entries().size(), 1U);
}

TEST_F(BankTest, TakesThePlaceOfAnInvalidPolicyWhateverThatClaims) {
  Bank bank = writable();
  BankEntry invalid = some_entry();
  invalid.policy = "loops outer=1 [z:8x4]\n";
  invalid.total_low = 3;
  invalid.names = {"/decoder/max"};
  EXPECT_TRUE(bank.put(invalid, std::nullopt));
  EXPECT_TRUE(bank.put(some_entry(), invalid.policy));
  ASSERT_EQ(bank.entries().size(), 1U);
  EXPECT_EQ(find(0).entry->policy, some_entry().policy);
  EXPECT_EQ(find(0).entry->total_low, some_entry().total_low);
  EXPECT_EQ(find(0).entry->names, (std::set<std::string>{"/decoder/max", "/encoder/max"}));
}

TEST_F(BankTest, FindsAllPoliciesThatMayBeUsedInOrder) {
  const auto at = [](Numerics allowed, const char* policy) {
    BankEntry entry = some_entry();
    entry.allowed = allowed;
    entry.policy = policy;
    return entry;
  };
  writable().merge({at(Numerics::direct, "small"), at(Numerics::winograd, "same"),
                    at(Numerics::strassen, "strassen depth=1")});
  const auto found = [&](Numerics allowed) {
    return readable().find({max_workload(0)}, kSomeTarget, allowed)[0];
  };
  const LookupResult some = found(Numerics::winograd);
  EXPECT_EQ(some.entry->policy, "same");
  ASSERT_EQ(some.others.size(), 1U);
  EXPECT_EQ(some.others[0].policy, "small");
  EXPECT_FALSE(some.not_allowed) << "one that may be used was found";
  const LookupResult all = found(Numerics::strassen);
  EXPECT_EQ(all.entry->allowed, Numerics::strassen);
  EXPECT_EQ(all.others.size(), 2U);
}

// A process releases all its locks on a file when it closes any descriptor of it.
TEST_F(BankTest, ReadingKeepsTheLocksOfThisProcess) {
  writable().put(some_entry(), std::nullopt);
  const auto is_locked = [&] {
    return in_child([&] {
             constexpr off_t kReservedByte = 0x40000001;
             struct flock lock = {};
             lock.l_type = F_WRLCK;
             lock.l_whence = SEEK_SET;
             lock.l_start = kReservedByte;
             lock.l_len = 1;
             const int descriptor = open(file_.c_str(), O_RDWR | O_CLOEXEC);
             const int code = fcntl(descriptor, F_GETLK, &lock);
             _exit(code == 0 && lock.l_type != F_UNLCK ? 0 : 1);
           }) == 0;
  };
  EXPECT_FALSE(is_locked());
  Database writer(file_, Database::Access::write);
  const Transaction transaction(writer);
  EXPECT_TRUE(is_locked());
  EXPECT_EQ(find(0).entry, some_entry());
  EXPECT_TRUE(is_locked());
}

TEST_F(BankTest, WhatIsDamagedNewerOrForeignIsAMissAndStays) {
  const std::pair<const char*, const char*> cases[] = {
      {"UPDATE policies SET policy = 'loops outer=1 [r:8x8]'", "damaged"},
      {"UPDATE policies SET workload = workload || ' '", "damaged"},
      {"UPDATE policies SET after_ns = 'many'", "damaged"},
      {"UPDATE policies SET evidence = ''", "damaged"},
      {"UPDATE policies SET threads = 1", "damaged"},
      {"UPDATE policies SET format = 4, checksum = ''", "newer"},
      {"UPDATE bank SET soc_version = 'x86_64_skylake'", "is for x86_64_znver4"},
  };
  for (const auto& [sql, word] : cases) {
    fs::remove(file_);
    writable().put(some_entry(), std::nullopt);
    change(sql);
    const LookupResult found = find(0);
    EXPECT_FALSE(found.entry) << sql;
    ASSERT_EQ(found.problems.size(), 1U) << sql;
    EXPECT_NE(found.problems[0].find(word), std::string::npos) << found.problems[0];
    EXPECT_NE(found.problems[0].find(file_.string()), std::string::npos);
    EXPECT_EQ(problems_of(readable()).empty(), std::string(word) != "damaged") << sql;
    if (std::string(sql).find("UPDATE bank") != std::string::npos) continue;
    EXPECT_TRUE(writable().put(some_entry(), std::nullopt)) << sql;
    EXPECT_EQ(find(0).entry, some_entry()) << sql;
    EXPECT_EQ(readable().entries().size(), 2U) << sql;
  }
}

TEST_F(BankTest, KnowsTheTimesOfAGraphsTasks) {
  BankEntry entry = some_entry();
  entry.workload = "graph 0123456789abcdef";
  entry.policy = "cube 1.5\nvector 2\n0123456789abcdef 12345.5\n";
  ASSERT_EQ(entry.kind(), EntryKind::layouts);
  ASSERT_EQ(some_entry().kind(), EntryKind::policy);
  writable().put(some_entry(), std::nullopt);
  EXPECT_TRUE(writable().put(entry, std::nullopt));
  EXPECT_FALSE(writable().put(entry, "other times"));
  const auto found = [&] { return readable().find({entry.workload}, kSomeTarget)[0]; };
  EXPECT_EQ(found().entry, entry);
  EXPECT_EQ(find(0).entry, some_entry());
  EXPECT_TRUE(problems_of(readable()).empty());
  // The entry has format 2, which versions that only know policies ignore.
  const Database database(file_, Database::Access::read);
  EXPECT_EQ(database.integer("SELECT max(format) FROM policies WHERE workload LIKE 'graph %'"), 2);
  EXPECT_EQ(database.integer("SELECT max(format) FROM policies WHERE workload LIKE 'in %'"), 1);
  change("UPDATE policies SET policy = 'cube 1' WHERE format = 2");
  EXPECT_FALSE(found().entry);
  EXPECT_EQ(found().problems.size(), 1U);
  EXPECT_EQ(problems_of(readable()).size(), 1U);
}

TEST_F(BankTest, CheckReadsTheTexts) {
  Bank bank = writable();
  BankEntry unknown_axis = some_entry(1);
  unknown_axis.policy = "loops outer=1 [z:8x4]\n";
  bank.put(unknown_axis, std::nullopt);
  BankEntry words = some_entry(2);
  words.workload = "a kind of maximum";
  bank.put(words, std::nullopt);
  bank.put(some_entry(3), std::nullopt);
  EXPECT_EQ(problems_of(bank).size(), 2U);
}

TEST_F(BankTest, FilesThatAreNoBanksOfOursAreErrors) {
  const std::string soc_version = kSomeTarget.soc_version;
  writable();
  const std::string other = message_of([&] { Bank::for_writing(file_, "x86_64_skylake"); });
  EXPECT_NE(other.find("is for x86_64_znver4, this is x86_64_skylake"), std::string::npos) << other;
  change("PRAGMA user_version = 3");
  for (const auto& act : std::vector<std::function<void()>>{
           [&] { Bank::for_reading(file_); }, [&] { Bank::for_writing(file_, soc_version); }}) {
    EXPECT_NE(message_of(act).find("newer version"), std::string::npos) << message_of(act);
  }
  change("PRAGMA user_version = 2; PRAGMA application_id = 7");
  EXPECT_NE(message_of([&] { writable(); }).find("is not a bank"), std::string::npos);
  std::ofstream(file_) << std::string(5000, 'x');
  EXPECT_NE(message_of([&] { readable(); }).find(file_.string()), std::string::npos);
}

TEST_F(BankTest, ReadingMakesNothing) {
  EXPECT_FALSE(Bank::for_reading(file_));
  EXPECT_FALSE(fs::exists(file_.parent_path()));
  fs::create_directories(file_.parent_path());
  std::ofstream(file_).close();  // as left by a writer that was killed at once
  EXPECT_FALSE(Bank::for_reading(file_));
  writable().put(some_entry(), std::nullopt);
  find(0);
  const auto files = std::distance(fs::directory_iterator(file_.parent_path()), {});
  EXPECT_EQ(files, 1);
}

TEST_F(BankTest, PipesAreNotWaitedFor) {
  fs::create_directories(file_.parent_path());
  ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
  EXPECT_NE(message_of([&] { find(0); }).find("not a regular file"), std::string::npos);
  fs::remove(file_);
  writable();
  ASSERT_EQ(mkfifo((file_.string() + "-journal").c_str(), 0600), 0);
  EXPECT_NE(message_of([&] { find(0); }).find("not a regular file"), std::string::npos);
}

TEST_F(BankTest, HasARollbackJournalWhateverOthersHaveSet) {
  writable();
  Database(file_, Database::Access::write).text("PRAGMA journal_mode = WAL");
  EXPECT_NE(message_of([&] { find(0); }).find("write-ahead log"), std::string::npos);
  EXPECT_FALSE(fs::exists(file_.string() + "-wal")) << "a reader makes no files";
  writable().put(some_entry(), std::nullopt);
  const Database database(file_, Database::Access::read);
  EXPECT_EQ(database.text("PRAGMA journal_mode"), "delete");
  EXPECT_EQ(database.integer("PRAGMA mmap_size"), 0) << "as network file systems need";
  EXPECT_EQ(find(0).entry, some_entry());
}

TEST_F(BankTest, PlacesThatCannotBeWrittenAreErrorsThatSayWhere) {
  std::ofstream(folder_.path() / "some").close();
  const std::string in_the_way = message_of([&] { writable(); });
  EXPECT_NE(in_the_way.find("folder cannot be made"), std::string::npos) << in_the_way;
  const std::string nowhere = message_of([] { Bank::for_writing("/proc/aoe/op.db", "x"); });
  EXPECT_NE(nowhere.find("/proc/aoe/op.db"), std::string::npos) << nowhere;
}

TEST_F(BankTest, AFullDiskIsAnErrorAndLosesNothing) {
  writable().put(some_entry(0), std::nullopt);
  // A limit on file sizes simulates a full disk.
  const int status = in_child([&] {
    signal(SIGXFSZ, SIG_IGN);
    Bank bank = writable();
    const auto size = static_cast<rlim_t>(fs::file_size(file_));
    const rlimit limit{size, size};
    setrlimit(RLIMIT_FSIZE, &limit);
    BankEntry large = some_entry(1);
    large.policy = std::string(100000, ' ');
    const std::string message = message_of([&] { bank.put(large, std::nullopt); });
    if (message.find(file_.string()) == std::string::npos) _exit(2);
  });
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(problems_of(readable()).empty());
  EXPECT_EQ(find(0).entry, some_entry(0));
}

TEST_F(BankTest, ProcessesWriteAtOnce) {
  constexpr int kProcesses = 4;
  constexpr int kEach = 10;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = fork();
    if (child == 0) {
      try {
        for (int i = 0; i < kEach; ++i) {
          if (!writable().put(some_entry(p * kEach + i), std::nullopt)) _exit(1);
        }
        // Only one of them succeeds.
        writable().put(some_entry(1000), std::nullopt);
      } catch (const Error& error) {
        fmt::print(stderr, "{}\n", error.what());
        _exit(2);
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(readable().entries().size(), kProcesses * kEach + 1U);
  EXPECT_TRUE(problems_of(readable()).empty());
}

TEST_F(BankTest, AKilledWriterLeavesItWhole) {
  std::mt19937 random(1);
  int last = -1;
  for (int round = 0; round < 40; ++round) {
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
      // Reports each entry after writing it; a reported entry must be found afterwards.
      for (int i = round * 10000;; ++i) {
        writable().put(some_entry(i), std::nullopt);
        if (write(ready[1], &i, sizeof i) != sizeof i) _exit(1);
      }
    }
    close(ready[1]);
    if (round % 2 == 1) {
      ASSERT_EQ(read(ready[0], &last, sizeof last), ssize_t{sizeof last});
    }
    usleep(random() % 3000);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    for (int told = 0; read(ready[0], &told, sizeof told) == sizeof told;) last = told;
    close(ready[0]);
    const std::optional<Bank> bank = Bank::for_reading(file_);
    if (!bank) {
      EXPECT_EQ(last, -1);
      continue;
    }
    ASSERT_TRUE(problems_of(*bank).empty()) << problems_of(*bank)[0];
    EXPECT_TRUE(last < 0 || find(last).entry) << last;
  }
  EXPECT_GE(last, 0);
}

TEST_F(BankTest, RunsNothingThatAFileContains) {
  writable().put(some_entry(0), std::nullopt);
  ASSERT_EQ(run_plain(file_,
                      "CREATE TRIGGER gone AFTER INSERT ON policies BEGIN "
                      "DELETE FROM policies; END"),
            "");
  writable().put(some_entry(1), std::nullopt);
  EXPECT_EQ(readable().entries().size(), 2U);
  ASSERT_EQ(run_plain(file_,
                      "ALTER TABLE policies RENAME TO hidden; "
                      "CREATE VIEW policies AS SELECT * FROM hidden"),
            "");
  const std::string message = message_of([&] { find(0); });
  EXPECT_NE(message.find("access to view \"policies\" prohibited"), std::string::npos) << message;
}

TEST_F(BankTest, ComputesNothingThatAFileContains) {
  writable().put(some_entry(0), std::nullopt);
  const std::string whole = folder_.path() / "whole.db";
  fs::copy_file(file_, whole);
  const std::pair<const char*, const char*> changes[] = {
      {"ALTER TABLE policies ADD COLUMN more TEXT AS (printf('%.*c', 60000000, 'a'))", "generated"},
      {"CREATE UNIQUE INDEX one ON policies (soc_version)", "unique columns"},
      {"CREATE INDEX \"two\"\"\" ON policies (instr(names, 'a'))", "an index of expressions"},
      {"CREATE INDEX three ON policies (names) WHERE instr(names, 'a')", "with a condition"},
  };
  for (const auto& [sql, what] : changes) {
    fs::copy_file(whole, file_, fs::copy_options::overwrite_existing);
    ASSERT_EQ(run_plain(file_, sql), "");
    for (const auto& access :
         {std::function<void()>([&] { find(0); }), std::function<void()>([&] { writable(); })}) {
      EXPECT_NE(message_of(access).find(what), std::string::npos) << message_of(access);
    }
  }
}

TEST_F(BankTest, CheckComparesColumnsWithTexts) {
  for (const char* change : {"numerics = 'strassen'", "family = 'zz'"}) {
    fs::remove(file_);
    writable().put(some_entry(0), std::nullopt);
    EXPECT_TRUE(problems_of(readable()).empty());
    this->change(fmt::format("UPDATE policies SET {}", change));
    EXPECT_EQ(problems_of(readable()).size(), 1U) << change;
  }
  change(
      "UPDATE policies SET family = (SELECT family FROM policies); "
      "INSERT INTO bank VALUES ('x86_64_mill')");
  EXPECT_EQ(problems_of(readable()).size(), 2U);
}

TEST_F(BankTest, OneWarningForABankThatEverybodyMayWrite) {
  writable().put(some_entry(0), std::nullopt);
  const auto warnings = [&] {
    testing::internal::CaptureStderr();
    EXPECT_EQ(find(0).entry, some_entry(0));
    EXPECT_EQ(find(0).entry, some_entry(0));
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(warnings(), "");
  chmod(file_.c_str(), 0646);
  const std::string warned = warnings();
  EXPECT_NE(warned.find(file_.string()), std::string::npos) << warned;
  EXPECT_EQ(std::count(warned.begin(), warned.end(), '\n'), 1) << warned;
}

TEST_F(BankTest, ABankOfAnotherUserIsReadButNotWrittenBelowHome) {
  writable().put(some_entry(0), std::nullopt);
  const auto error_in = [&](const char* variable) {
    return message_of([&] {
      Bank::for_writing({.custom = {{file_, file_}}, .variable = variable}, BankKind::operators,
                        kSomeTarget.soc_version);
    });
  };
  EXPECT_EQ(error_in("HOME"), "no error");
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  // Root's bank, which somebody else may use.
  chmod(file_.c_str(), 0664);
  EXPECT_TRUE(true_for_ordinary_user(folder_.path(), [&] {
    return error_in("HOME") == "no error" && find(0).entry == some_entry(0);
  }));
  // Now that of the ordinary user, and root as a stranger.
  EXPECT_EQ(find(0).entry, some_entry(0));
  const std::string error = error_in("HOME");
  EXPECT_NE(error.find(file_.string()), std::string::npos) << error;
  EXPECT_NE(error.find("belongs to user nobody (65534)"), std::string::npos) << error;
  EXPECT_EQ(error_in("TUNE_BANK_PATH"), "no error");
}

// A rollback journal can name a super-journal, which SQLite deletes when it has rolled back.
TEST_F(BankTest, TheRollbackJournalOfAnotherUserIsNotUsed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const fs::path precious = folder_.path() / "precious";
  const std::string journal = file_.string() + "-journal";
  for (const uid_t owner : {uid_t{0}, kNobody}) {
    writable().put(some_entry(0), std::nullopt);
    std::ofstream(precious) << "of the reader";
    // A writer that is killed while its transaction is partly in the file.
    in_child([&] {
      Database database(file_, Database::Access::write);
      database.run("PRAGMA cache_size = 1; BEGIN IMMEDIATE");
      database.run("UPDATE policies SET policy = hex(zeroblob(50000))");
      database.run("INSERT INTO bank SELECT hex(zeroblob(50000))");
      kill(getpid(), SIGKILL);
    });
    ASSERT_TRUE(fs::exists(journal));
    // The record at a journal's end: a page number, the name, its length, its sum, a magic number.
    std::ofstream stream(journal, std::ios::binary | std::ios::app);
    const auto write_number = [&](uint32_t number) {
      for (const int shift : {24, 16, 8, 0}) stream.put(static_cast<char>(number >> shift));
    };
    const std::string name = precious.string();
    uint32_t sum = 0;
    for (const char c : name) sum += static_cast<uint32_t>(c);
    write_number(0x40000000 / 4096 + 1);
    stream << name;
    write_number(static_cast<uint32_t>(name.size()));
    write_number(sum);
    stream << "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";
    stream.close();
    ASSERT_EQ(chown(file_.c_str(), owner, owner), 0);
    ASSERT_EQ(chown(journal.c_str(), owner, owner), 0);
    if (owner == 0) {
      EXPECT_EQ(find(0).entry, some_entry(0));
      EXPECT_FALSE(fs::exists(precious)) << "the journal made here is not what SQLite expects";
    } else {
      for (const auto& access :
           {std::function<void()>([&] { find(0); }), std::function<void()>([&] { writable(); })}) {
        const std::string message = message_of(access);
        EXPECT_NE(message.find("killed"), std::string::npos) << message;
      }
      EXPECT_TRUE(fs::exists(precious));
    }
  }
}

TEST(BankEntryTest, SetsOfTextsAreReadBackAsTheyAreStored) {
  // With a space instead of the line end, the order of these two is another.
  const std::set<std::string> texts{"a\nb", "a\tb"};
  const std::set<std::string> stored = texts_in(lines_of(texts));
  EXPECT_EQ(stored, (std::set<std::string>{"a b", "a\tb"}));
  EXPECT_EQ(lines_of(stored), lines_of(texts));
  EXPECT_TRUE(texts_in(lines_of({})).empty());
}

TEST(BankEntryTest, EveryFieldIsInTheChecksum) {
  const std::function<void(BankEntry&)> changes[] = {
      [](BankEntry& e) { e.workload += " "; }, [](BankEntry& e) { e.target.soc_version += "x"; },
      [](BankEntry& e) { e.target.threads = 7; }, [](BankEntry& e) { e.policy += " "; },
      [](BankEntry& e) { e.allowed = Numerics::strassen; }, [](BankEntry& e) { e.mode += "x"; },
      [](BankEntry& e) { e.baseline += "x"; }, [](BankEntry& e) { e.total_low += 1; },
      [](BankEntry& e) { e.names.insert("x"); }, [](BankEntry& e) { e.types.insert("x"); },
      [](BankEntry& e) { e.fingerprint += "x"; }, [](BankEntry& e) { e.gain.before_ns += 1; },
      [](BankEntry& e) { e.gain.after_ns += 1; }, [](BankEntry& e) { e.gain.speedup_low += 1; },
      [](BankEntry& e) { e.gain.speedup_high += 1; }, [](BankEntry& e) { e.gain.noise_floor += 1; },
      [](BankEntry& e) { e.gain.samples += 1; }, [](BankEntry& e) { e.evidence.insert("x"); },
      [](BankEntry& e) { e.processor += "x"; }, [](BankEntry& e) { e.product_version += "x"; },
      [](BankEntry& e) { e.date += "x"; }, [](BankEntry& e) { e.effort += "x"; },
      [](BankEntry& e) { e.target.instruction_set += "x"; },
      // A character moved from one field to the next.
      [](BankEntry& e) {
        e.effort = e.date.back() + e.effort;
        e.date.pop_back();
      }};
  std::set<uint64_t> sums{checksum_of(some_entry())};
  for (const auto& change : changes) {
    BankEntry entry = some_entry();
    change(entry);
    sums.insert(checksum_of(entry));
  }
  EXPECT_EQ(sums.size(), 1 + std::size(changes));
}

}  // namespace
}  // namespace aoe
