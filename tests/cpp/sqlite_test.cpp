#include "base/sqlite.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/error.h"
#include "tests/cpp/error_message.h"
#include "tests/cpp/ordinary_user.h"
#include "tests/cpp/plain_sqlite.h"
#include "tests/cpp/temporary_folder.h"

namespace aoe {
namespace {

class SqliteTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_.path() / "some.db";
};

TEST_F(SqliteTest, GivesBackWhatItWasGiven) {
  Database database(file_, Database::Access::create);
  database.run("CREATE TABLE t (a INTEGER, b REAL, c TEXT, d TEXT)");
  Statement insert = database.prepare("INSERT INTO t VALUES (?, ?, ?, ?)");
  const std::string with_zero("x\0y", 3);
  for (const int64_t a : {int64_t{-1}, INT64_MAX}) {
    insert.bind(a).bind(0.1).bind(with_zero).bind(std::optional<int64_t>()).run();
  }
  Statement select = database.prepare("SELECT a, b, c, d FROM t ORDER BY a");
  ASSERT_TRUE(select.step());
  EXPECT_EQ(select.integer(0), -1);
  EXPECT_EQ(select.real(1), 0.1);
  EXPECT_EQ(select.text(2), with_zero);
  EXPECT_TRUE(select.is_null(3));
  ASSERT_TRUE(select.step());
  EXPECT_EQ(select.integer(0), INT64_MAX);
  EXPECT_FALSE(select.step());
  insert.bind(int64_t{5}).bind(1.0).bind("").bind(nullptr).run();
  EXPECT_EQ(database.integer("SELECT c IS NULL FROM t WHERE a = 5"), 0);
}

TEST_F(SqliteTest, WhatIsNotCommittedIsUndone) {
  Database database(file_, Database::Access::create);
  database.run("CREATE TABLE t (a INTEGER)");
  const auto count = [&] { return database.integer("SELECT count(*) FROM t"); };
  {
    Transaction transaction(database);
    database.run("INSERT INTO t VALUES (1)");
    EXPECT_EQ(count(), 1);
  }
  EXPECT_EQ(count(), 0);
  Transaction transaction(database);
  database.run("INSERT INTO t VALUES (1)");
  transaction.commit();
  EXPECT_EQ(count(), 1);
}

TEST_F(SqliteTest, ReadingCreatesNothing) {
  EXPECT_NE(message_of([&] { Database(file_, Database::Access::read); }).find(file_.string()),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(file_));
  Database(file_, Database::Access::create).run("CREATE TABLE t (a INTEGER)");
  Database database(file_, Database::Access::read);
  EXPECT_NE(message_of([&] { database.run("INSERT INTO t VALUES (1)"); }).find("readonly"),
            std::string::npos);
}

TEST_F(SqliteTest, ErrorsNameTheFileAndSayWhatToDo) {
  std::ofstream(file_) << std::string(4096, 'x');
  Database database(file_, Database::Access::write);
  const std::string message = message_of([&] { database.integer("SELECT count(*) FROM t"); });
  EXPECT_NE(message.find(file_.string()), std::string::npos) << message;
  EXPECT_NE(message.find("move it away"), std::string::npos) << message;
}

TEST_F(SqliteTest, AFileThatSomebodyWritesToIsWaitedForOnlySoLong) {
  Database first(file_, Database::Access::create);
  first.run("CREATE TABLE t (a INTEGER)");
  Transaction transaction(first);
  Database second(file_, Database::Access::write, 1);
  const std::string message = message_of([&] { Transaction{second}; });
  EXPECT_NE(message.find("try again"), std::string::npos) << message;
}

TEST_F(SqliteTest, NothingInTheSchemaIsExecuted) {
  ASSERT_EQ(run_plain(file_, R"(
      CREATE TABLE t (a INTEGER);
      CREATE TABLE computed (a INTEGER, long TEXT AS (hex(zeroblob(50000000))));
      CREATE TABLE seen (a INTEGER);
      CREATE TRIGGER spy AFTER INSERT ON t BEGIN INSERT INTO seen VALUES (new.a); END;
      CREATE VIEW v AS SELECT a FROM t;
      CREATE VIRTUAL TABLE words USING fts4 (word);
      INSERT INTO t VALUES (1);
      INSERT INTO computed VALUES (1);
  )"),
            "");
  Database database(file_, Database::Access::write);
  EXPECT_EQ(database.integer("SELECT a FROM t"), 1);
  database.run("INSERT INTO t VALUES (2)");
  EXPECT_EQ(database.integer("SELECT count(*) FROM seen"), 1);
  struct Row {
    const char* sql;
    const char* refusal;
  };
  for (const Row& row : {Row{"SELECT a FROM v", "access to view \"v\" prohibited"},
                         Row{"SELECT word FROM words", "no such module: fts4"},
                         Row{"SELECT long FROM computed", "too big"},
                         Row{"PRAGMA writable_schema = ON; DELETE FROM sqlite_schema",
                             "table sqlite_master may not be modified"}}) {
    const std::string message = message_of([&] { database.run(row.sql); });
    EXPECT_NE(message.find(row.refusal), std::string::npos) << row.sql << ": " << message;
  }
}

TEST_F(SqliteTest, OnlyTheOwnerRecoversAFile) {
  Database(file_, Database::Access::create).run("CREATE TABLE t (a INTEGER)");
  EXPECT_FALSE(has_rollback_journal(file_));
  EXPECT_TRUE(may_recover(file_));
  const std::filesystem::path journal = file_.string() + "-journal";
  std::ofstream(journal).close();
  // A log is beside the file, not beside a link to it.
  const std::filesystem::path link = folder_.path() / "link.db";
  std::filesystem::create_symlink(file_, link);
  for (const std::filesystem::path& file : {file_, link}) {
    EXPECT_TRUE(has_rollback_journal(file));
    EXPECT_TRUE(may_recover(file));
  }
  for (const std::filesystem::path& part : {file_, journal}) {
    chmod(part.c_str(), 0666);
    EXPECT_FALSE(may_recover(file_)) << part;
    chmod(part.c_str(), 0644);
  }
  EXPECT_TRUE(true_for_ordinary_user(folder_.path(), [&] { return may_recover(file_); }));
  chmod(file_.c_str(), 0444);
  EXPECT_TRUE(true_for_ordinary_user(folder_.path(), [&] { return !may_recover(file_); }));
  if (geteuid() != 0) return;  // Only root can give files away.
  EXPECT_FALSE(may_recover(file_));
  ASSERT_EQ(chown(file_.c_str(), 0, 0), 0);
  EXPECT_FALSE(may_recover(link)) << "its rollback journal belongs to somebody else";
}

}  // namespace
}  // namespace aoe
