#include "base/sqlite.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "tests/cpp/error_message.h"
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

}  // namespace
}  // namespace aoe
