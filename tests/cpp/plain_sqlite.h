#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <string>

namespace aoe {

// Runs SQL on a file as any other tool would: with views, triggers and virtual tables, which a
// Database never uses. Returns SQLite's message; empty if there was no error.
inline std::string run_plain(const std::filesystem::path& file, const std::string& sql) {
  sqlite3* database = nullptr;
  EXPECT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
  const bool good = sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
  std::string message = good ? "" : sqlite3_errmsg(database);
  sqlite3_close(database);
  return message;
}

}  // namespace aoe
