#include "bank/schema.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "bank/bank.h"
#include "tests/cpp/bank_entries.h"
#include "tests/cpp/temporary_folder.h"

namespace aoe {
namespace {

namespace fs = std::filesystem;

// A bank as the first version made it, with its entries.
void write_version_1(const fs::path& file, const std::vector<BankEntry>& entries) {
  fs::create_directories(file.parent_path());
  Database database(file, Database::Access::create);
  database.run(R"(
    PRAGMA application_id = 0x616f6562; PRAGMA user_version = 1;
    CREATE TABLE bank (soc_version TEXT NOT NULL);
    INSERT INTO bank VALUES ('x86_64_znver4');
    CREATE TABLE policies (id INTEGER PRIMARY KEY, format INTEGER NOT NULL, key TEXT NOT NULL,
      workload TEXT NOT NULL, soc_version TEXT NOT NULL, instruction_set TEXT NOT NULL,
      threads INTEGER NOT NULL, policy TEXT NOT NULL, before_ns REAL NOT NULL,
      after_ns REAL NOT NULL, speedup_low REAL NOT NULL, speedup_high REAL NOT NULL,
      noise_floor REAL NOT NULL, samples INTEGER NOT NULL, evidence TEXT NOT NULL,
      processor TEXT NOT NULL, product_version TEXT NOT NULL, date TEXT NOT NULL,
      effort TEXT NOT NULL, checksum TEXT NOT NULL);
    CREATE INDEX policies_by_key ON policies (key);)");
  for (const BankEntry& entry : entries) {
    Statement insert = database.prepare(
        "INSERT INTO policies (format, key, workload, soc_version, instruction_set, threads, "
        "policy, before_ns, after_ns, speedup_low, speedup_high, noise_floor, samples, evidence, "
        "processor, product_version, date, effort, checksum) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    insert.bind(int64_t{entry.kind() == EntryKind::layouts ? 2 : 1})
        .bind(key_text(entry.workload))
        .bind(entry.workload)
        .bind(entry.target.soc_version)
        .bind(entry.target.instruction_set)
        .bind(int64_t{entry.target.threads})
        .bind(entry.policy)
        .bind(entry.gain.before_ns)
        .bind(entry.gain.after_ns)
        .bind(entry.gain.speedup_low)
        .bind(entry.gain.speedup_high)
        .bind(entry.gain.noise_floor)
        .bind(entry.gain.samples)
        .bind(lines_of(entry.evidence))
        .bind(entry.processor)
        .bind(entry.product_version)
        .bind(entry.date)
        .bind(entry.effort)
        .bind(fmt::format("{:016x}", checksum_of_version_1(entry)));
    insert.run();
  }
}

// An entry as far as the first version knew it.
BankEntry version_1_of(BankEntry entry) {
  entry.allowed = entry.numerics();
  entry.total_low = entry.gain.speedup_low;
  entry.mode = entry.baseline = entry.fingerprint = "";
  entry.names = entry.types = {};
  return entry;
}

TEST(BankSchemaTest, OfTheFirstVersionIsReadAndMigratedByTheNextWrite) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "op.db";
  const auto readable = [&] { return std::move(Bank::for_reading(file).value()); };
  const auto find = [&](int number) {
    return readable().find({max_workload(number)}, kSomeTarget)[0].entry;
  };
  BankEntry tiles = some_entry(1);
  tiles.policy = "stage 0 winograd4";
  BankEntry layouts = some_entry(2);
  layouts.workload = "graph 0123456789abcdef";
  layouts.policy = "cube 1.5\nvector 2\n0123456789abcdef 12345.5\n";
  BankEntry foreign = some_entry(3);
  foreign.target.soc_version = "x86_64_skylake";
  const std::vector<BankEntry> made{some_entry(0), tiles,         layouts,
                                    foreign,       some_entry(4), some_entry(5)};
  write_version_1(file, made);
  const auto change = [&](const char* sql) { Database(file, Database::Access::write).run(sql); };
  change("UPDATE policies SET policy = 'spoilt' WHERE id = 5");
  change("UPDATE policies SET format = 4 WHERE id = 6");
  const auto bytes = fs::file_size(file);
  using State = StoredEntry::State;
  const State states[] = {State::good,    State::good,    State::good,
                          State::foreign, State::damaged, State::newer};
  const auto expect_all = [&](size_t other_shapes) {
    const std::vector<StoredEntry> found = readable().entries();
    ASSERT_GE(found.size(), made.size());
    for (size_t i = 0; i < made.size(); ++i) {
      EXPECT_EQ(found[i].state, states[i]) << found[i].problem;
      if (i >= 4) continue;
      EXPECT_EQ(found[i].entry, version_1_of(made[i])) << i;
    }
    EXPECT_EQ(find(0), version_1_of(made[0]));
    EXPECT_EQ(readable().find({max_workload(1)}, kSomeTarget, Numerics::direct)[0].entry,
              std::nullopt);
    EXPECT_EQ(readable().other_shapes({max_workload(100)}, kSomeTarget).size(), other_shapes);
  };
  expect_all(2);
  EXPECT_EQ(Database(file, Database::Access::read).integer("PRAGMA user_version"), 1);
  EXPECT_EQ(fs::file_size(file), bytes);
  // A reader that has it open while it is migrated.
  const Bank reader = readable();
  EXPECT_TRUE(Bank::for_writing(file, kSomeTarget.soc_version).put(some_entry(7), std::nullopt));
  EXPECT_EQ(Database(file, Database::Access::read).integer("PRAGMA user_version"), 2);
  expect_all(3);
  EXPECT_EQ(find(7), some_entry(7));
  EXPECT_EQ(reader.find({max_workload(7)}, kSomeTarget)[0].entry, some_entry(7));
}

}  // namespace
}  // namespace aoe
