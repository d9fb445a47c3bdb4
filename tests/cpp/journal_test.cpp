#include "tune/journal/journal.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <random>
#include <set>

#include "base/error.h"
#include "tests/cpp/journal_kills.h"
#include "tests/cpp/ordinary_user.h"
#include "tests/cpp/plain_sqlite.h"
#include "tests/cpp/temporary_folder.h"

namespace aoe {
namespace {

namespace fs = std::filesystem;
using Kind = JournalEntry::Kind;

class JournalTest : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  const fs::path file_ = folder_.path() / "journal.db";

  std::string error_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  void execute(const std::string& sql) { Database(file_, Database::Access::write).run(sql); }
};

const auto never = [] {
  ADD_FAILURE() << "measured what the journal knows";
  return std::string();
};

// A job whose decisions follow from its measurements. Returns all decisions.
std::string job(Journal& journal, int steps, std::mt19937& machine, int& measured) {
  std::string decisions;
  for (int i = 0; i < steps; ++i) {
    const std::string request = fmt::format("time {} after '{}'", i, decisions);
    const std::string ns = journal.ask(request, [&] {
      ++measured;
      return fmt::format("{}", machine() % 1000);
    });
    const char* const decision = std::stoi(ns) < 500 ? "fast" : "slow";
    journal.record_decision(fmt::format("judge {}", i), decision);
    decisions += decision[0];
  }
  return decisions;
}

TEST_F(JournalTest, ReplayGivesTheSameDecisions) {
  std::mt19937 machine(7);
  int measured = 0;
  std::string first;
  {
    Journal journal(file_, Journal::Start::fresh);
    EXPECT_FALSE(journal.replaying());
    first = job(journal, 20, machine, measured);
    EXPECT_EQ(journal.entries(), 40);
  }
  const std::vector<JournalEntry> entries = read_journal(file_);
  ASSERT_EQ(entries.size(), 40);
  EXPECT_EQ(entries[1].kind, Kind::decision);
  EXPECT_EQ(entries[1].request, "judge 0");
  EXPECT_EQ(measured, 20);
  {
    Journal journal(file_, Journal::Start::reload);
    EXPECT_TRUE(journal.replaying());
    EXPECT_EQ(job(journal, 20, machine, measured), first);
    EXPECT_FALSE(journal.replaying());
    EXPECT_EQ(measured, 20);  // nothing was measured again
  }
  EXPECT_EQ(read_journal(file_), entries);
  Journal journal(file_, Journal::Start::reload);
  EXPECT_EQ(job(journal, 30, machine, measured).substr(0, 20), first);
  EXPECT_EQ(measured, 30);  // and then it goes on
  EXPECT_EQ(read_journal(file_).size(), 60);
  EXPECT_TRUE(check_journal(file_).empty());
}

TEST_F(JournalTest, AnswersAreKeptByteForByte) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  const std::string texts[] = {"", std::string(1, '\0'), all, "'\"%\n", std::string(1 << 20, 'x')};
  {
    const Journal begun(file_, Journal::Start::fresh);
  }
  for (const bool again : {false, true}) {
    Journal journal(file_, Journal::Start::reload);
    for (const std::string& text : texts) {
      EXPECT_EQ(journal.ask(text, [&] { return again ? never() : text; }), text);
      journal.record_decision(text, text);
    }
  }
}

TEST_F(JournalTest, ADifferentJobIsAnError) {
  {
    Journal journal(file_, Journal::Start::fresh);
    journal.ask("time A", [] { return "1"; });
    journal.record_decision("judge A", "fast");
  }
  const auto replay = [&](const char* request, const char* decision) {
    Journal journal(file_, Journal::Start::reload);
    journal.ask(request, never);
    journal.record_decision("judge A", decision);
  };
  const std::string other_request = error_of([&] { replay("time B", "fast"); });
  EXPECT_NE(other_request.find("entry 1: the journal's request is 'time A', but the job's is now "
                               "'time B'"),
            std::string::npos)
      << other_request;
  const std::string other_decision = error_of([&] { replay("time A", "slow"); });
  EXPECT_NE(other_decision.find("entry 2: the journal's decision is 'fast', but the job's is now "
                                "'slow'"),
            std::string::npos)
      << other_decision;
  const std::string other_kind = error_of([&] {
    Journal journal(file_, Journal::Start::reload);
    journal.record_decision("time A", "1");
  });
  EXPECT_NE(other_kind.find("'measurement'"), std::string::npos) << other_kind;
  // For long texts, the part that differs is shown.
  const TemporaryFolder other;
  const std::string text(5000, 'x');
  Journal(other.path() / "j", Journal::Start::fresh).ask(text + "one", [] { return ""; });
  const std::string long_texts = error_of(
      [&] { Journal(other.path() / "j", Journal::Start::reload).ask(text + "two", never); });
  EXPECT_NE(long_texts.find("xone'"), std::string::npos) << long_texts;
  EXPECT_NE(long_texts.find("xtwo'"), std::string::npos) << long_texts;
}

TEST_F(JournalTest, AMeasurementThatFailsIsNotRecorded) {
  Journal journal(file_, Journal::Start::fresh);
  EXPECT_THROW(journal.ask("a", []() -> std::string { fail("no worker"); }), Error);
  EXPECT_EQ(journal.ask("a", [] { return "1"; }), "1");
  EXPECT_EQ(read_journal(file_).size(), 1);
}

TEST_F(JournalTest, OpensOnlyJournals) {
  const auto open = [&](Journal::Start start) { return error_of([&] { Journal(file_, start); }); };
  EXPECT_NE(open(Journal::Start::reload).find("is not there"), std::string::npos);
  EXPECT_NE(check_journal(file_)[0].find("is not there"), std::string::npos);
  {
    const Journal begun(file_, Journal::Start::fresh);
  }
  EXPECT_NE(open(Journal::Start::fresh).find("is there already"), std::string::npos);
  execute("PRAGMA user_version = 2");
  for (const std::string& text : {open(Journal::Start::reload), check_journal(file_)[0]}) {
    EXPECT_NE(text.find("newer version of aoe (journal version 2, this one knows 1)"),
              std::string::npos)
        << text;
  }
  execute("PRAGMA application_id = 1; PRAGMA user_version = 1");
  EXPECT_NE(open(Journal::Start::reload).find("is not a job's journal"), std::string::npos);
  fs::remove(file_);
  Database(file_, Database::Access::create).run("CREATE TABLE other(a)");
  EXPECT_NE(open(Journal::Start::reload).find("is not a job's journal"), std::string::npos);
  std::ofstream(file_) << std::string(10000, 'x');
  EXPECT_NE(open(Journal::Start::reload).find("journal.db"), std::string::npos);
  EXPECT_FALSE(check_journal(file_).empty());
}

TEST_F(JournalTest, EntriesStayAsTheyAre) {
  {
    Journal journal(file_, Journal::Start::fresh);
    for (const char* text : {"a", "b", "c", "d"}) journal.ask(text, [&] { return text; });
  }
  EXPECT_EQ(run_plain(file_, "UPDATE entry SET answer = 'x'"), "entries are never changed");
  EXPECT_EQ(run_plain(file_, "DELETE FROM entry WHERE number = 2"), "entries are never removed");
  EXPECT_TRUE(check_journal(file_).empty());
  // Changes that bypass the triggers are detected.
  execute("DROP TRIGGER entry_remains; DROP TRIGGER entry_stays");
  execute("UPDATE entry SET answer = 'x' WHERE number = 3");
  EXPECT_NE(check_journal(file_)[0].find("entry 3 is not what was written"), std::string::npos);
  execute("DELETE FROM entry WHERE number = 2");
  EXPECT_NE(check_journal(file_)[0].find("entry 2 is missing"), std::string::npos);
  Journal journal(file_, Journal::Start::reload);
  EXPECT_EQ(journal.ask("a", never), "a");
  EXPECT_THROW(journal.ask("b", never), Error);
}

TEST_F(JournalTest, IsReadWhileItIsWritten) {
  Journal journal(file_, Journal::Start::fresh);
  for (int i = 0; i < 20; ++i) {
    journal.ask(fmt::format("{}", i), [] { return "answer"; });
    EXPECT_EQ(read_journal(file_).size(), static_cast<size_t>(i) + 1);
  }
  // Two processes that resume the same job would mix their entries.
  Journal other(file_, Journal::Start::reload);
  for (int i = 0; i < 20; ++i) other.ask(fmt::format("{}", i), never);
  other.record_decision("go on", "yes");
  const std::string error = error_of([&] { journal.record_decision("go on", "yes"); });
  EXPECT_NE(error.find("another process writes to this journal"), std::string::npos) << error;
}

TEST_F(JournalTest, IsReadWithoutPermissionToWrite) {
  Journal(file_, Journal::Start::fresh).ask("a", [] { return "1"; });
  const auto entries = read_journal(file_);
  chmod(file_.c_str(), 0444);
  EXPECT_TRUE(true_for_ordinary_user(folder_.path(), [&] {
    return read_journal(file_) == entries && check_journal(file_).empty() &&
           error_of([&] { Journal(file_, Journal::Start::reload).record_decision("b", "2"); }) !=
               "";
  }));
}

// Its logs may name any file, which SQLite deletes.
TEST_F(JournalTest, OfAnotherUserIsNotReloaded) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  Journal(file_, Journal::Start::fresh).ask("a", [] { return "1"; });
  const auto reload = [&] { return error_of([&] { Journal(file_, Journal::Start::reload); }); };
  EXPECT_EQ(reload(), "");
  ASSERT_EQ(chown(file_.c_str(), kNobody, kNobody), 0);
  EXPECT_NE(reload().find("belongs to"), std::string::npos) << reload();
  ASSERT_EQ(chown(file_.c_str(), 0, 0), 0);
  const std::string log = file_.string() + "-journal";
  std::ofstream(log).close();
  ASSERT_EQ(chown(log.c_str(), kNobody, kNobody), 0);
  EXPECT_NE(reload().find("belongs to"), std::string::npos) << reload();
}

TEST_F(JournalTest, RunsNothingThatAFileContains) {
  Journal(file_, Journal::Start::fresh).ask("a", [] { return "1"; });
  ASSERT_EQ(run_plain(file_,
                      "CREATE TRIGGER more AFTER INSERT ON entry BEGIN "
                      "INSERT INTO entry VALUES (new.number + 1, '', '', '', 0); END"),
            "");
  Journal journal(file_, Journal::Start::reload);
  journal.ask("a", never);
  journal.ask("b", [] { return "2"; });
  EXPECT_EQ(read_journal(file_).size(), 2);
  execute("DROP TABLE entry");
  ASSERT_EQ(run_plain(file_,
                      "CREATE VIEW entry AS SELECT 1 AS number, 'measurement' AS kind, "
                      "'' AS request, '' AS answer, 0 AS checksum"),
            "");
  EXPECT_NE(check_journal(file_)[0].find("prohibited"), std::string::npos);
}

TEST_F(JournalTest, SurvivesItsWriter) {
  const auto failure = failure_of_kills(file_, 40, 1);
  EXPECT_FALSE(failure) << *failure;
  EXPECT_GT(read_journal(file_).size(), 40);
}

// As on network file systems, where there is no write-ahead log: half of an entry is in the file,
// and the pages that it replaced are in the rollback journal next to it.
TEST_F(JournalTest, IsReadAfterAWriterDiedInTheMiddleOfAnEntry) {
  Journal(file_, Journal::Start::fresh).ask("a", [] { return "1"; });
  const auto entries = read_journal(file_);
  const pid_t child = fork();
  if (child == 0) {
    Database database(file_, Database::Access::write);
    database.run("PRAGMA journal_mode = DELETE");
    database.run("PRAGMA cache_size = 1");
    database.run("BEGIN IMMEDIATE");
    for (int i = 2; i < 100; ++i) {
      database.run(fmt::format("INSERT INTO entry VALUES({}, '', '', hex(zeroblob(5000)), 0)", i));
    }
    kill(getpid(), SIGKILL);
  }
  waitpid(child, nullptr, 0);
  ASSERT_TRUE(fs::exists(file_.string() + "-journal"));
  EXPECT_EQ(check_journal(file_), std::vector<std::string>());
  EXPECT_EQ(read_journal(file_), entries);
}

// A log truncated anywhere, as after a loss of power, yields the entries that are complete in it.
TEST_F(JournalTest, OpensWithALogThatWasCutOff) {
  const fs::path log = file_.string() + "-wal";
  Journal journal(file_, Journal::Start::fresh);
  for (int64_t i = 1; i <= 12; ++i) journal.ask(fmt::format("{}", i), [&] { return "x"; });
  std::set<size_t> seen;
  const auto size = fs::file_size(log);
  ASSERT_GT(size, 4096);
  for (uintmax_t length = 0; length <= size; length += 1 + size / 60) {
    const TemporaryFolder copy;
    const fs::path cut = copy.path() / "journal.db";
    fs::copy_file(file_, cut);
    fs::copy_file(log, cut.string() + "-wal");
    fs::resize_file(cut.string() + "-wal", length);
    Journal reloaded(cut, Journal::Start::reload);
    EXPECT_TRUE(check_journal(cut).empty());
    const auto entries = read_journal(cut);
    seen.insert(entries.size());
    for (const JournalEntry& entry : entries) reloaded.ask(entry.request, never);
    reloaded.record_decision("go on", "yes");
  }
  EXPECT_GT(seen.size(), 10);
}

TEST_F(JournalTest, AFullDiskIsAnErrorAndLosesNothing) {
  // Resource limits are per process, so a child sets this one.
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{200 << 10, 200 << 10};
    setrlimit(RLIMIT_FSIZE, &limit);
    int recorded = 0;
    try {
      Journal journal(file_, Journal::Start::fresh);
      for (; recorded < 100; ++recorded) {
        journal.ask(fmt::format("{}", recorded), [] { return std::string(10000, 'x'); });
      }
    } catch (const Error&) {
      _exit(recorded);
    }
    _exit(100);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  const int recorded = WEXITSTATUS(status);
  EXPECT_GT(recorded, 5);
  EXPECT_LT(recorded, 100);
  EXPECT_TRUE(check_journal(file_).empty());
  EXPECT_EQ(read_journal(file_).size(), static_cast<size_t>(recorded));
  Journal journal(file_, Journal::Start::reload);
  for (int i = 0; i < 100; ++i) {
    journal.ask(fmt::format("{}", i), [] { return std::string(10000, 'x'); });
  }
  EXPECT_EQ(read_journal(file_).size(), 100);
}

// A flipped bit is detected or is in unused space; it never changes an answer.
TEST_F(JournalTest, SeesFlippedBits) {
  {
    Journal journal(file_, Journal::Start::fresh);
    for (int64_t i = 1; i <= 30; ++i) {
      journal.ask(fmt::format("measure {}", i), [&] { return journal_answer(i).substr(0, 500); });
    }
  }
  const auto entries = read_journal(file_);
  std::ifstream stream(file_, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(stream)), {});
  std::mt19937 random(5);
  int seen = 0;
  constexpr int kFlips = 500;
  for (int i = 0; i < kFlips; ++i) {
    std::string flipped = whole;
    // A bit of each of the first 100 bytes (the header), then any bit.
    const size_t bit =
        i < 100 ? static_cast<size_t>(i) * 8 + random() % 8 : random() % (whole.size() * 8);
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    std::ofstream(file_, std::ios::binary | std::ios::trunc) << flipped;
    if (!check_journal(file_).empty()) {
      ++seen;
      continue;
    }
    EXPECT_EQ(read_journal(file_), entries) << "bit " << bit;
    Journal journal(file_, Journal::Start::reload);
    for (const JournalEntry& entry : entries) {
      EXPECT_EQ(journal.ask(entry.request, never), entry.answer);
    }
  }
  EXPECT_GT(seen, kFlips / 4);
}

}  // namespace
}  // namespace aoe
