#include "bank/merge.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "bank/entry_json.h"
#include "bank/listing.h"
#include "tests/cpp/bank_entries.h"
#include "tests/cpp/error_message.h"
#include "tests/cpp/temporary_folder.h"

namespace aoe {
namespace {

namespace fs = std::filesystem;

// Entries of few keys and few values, so that many of them conflict, tie, or are equal.
class RandomEntries {
 public:
  explicit RandomEntries(uint32_t seed) : random_(seed) {}
  int below(int end) { return static_cast<int>(random_() % static_cast<uint32_t>(end)); }

  BankEntry entry() {
    BankEntry entry = some_entry(below(3));
    entry.target.threads = 1 + below(2);
    entry.allowed = static_cast<Numerics>(below(3));
    entry.policy = below(3) == 0 ? "" : "policy " + std::to_string(below(3));
    entry.gain.samples = 10 * below(2);
    entry.gain.speedup_low = 1 + 0.1 * below(2);
    entry.gain.before_ns = 1000 + below(2);
    entry.baseline = std::array{"", "default"}[static_cast<size_t>(below(2))];
    entry.mode = std::array{"Schedule", "Impl"}[static_cast<size_t>(below(2))];
    entry.fingerprint = std::array{"one", "other"}[static_cast<size_t>(below(2))];
    entry.product_version = std::array{"0.0.9", AOE_VERSION}[static_cast<size_t>(below(2))];
    entry.types = {std::array{"Relu", "Conv"}[static_cast<size_t>(below(2))]};
    entry.total_low = 1 + 0.1 * below(3);
    entry.date = below(2) == 0 ? "2026-11-17T05:30:00Z" : "2026-11-18T05:30:00Z";
    entry.effort = std::array{"O2", "O1", "O2 90s", "O1 deeper"}[static_cast<size_t>(below(4))];
    entry.evidence = {"job/" + std::to_string(below(5))};
    entry.names = {"node " + std::to_string(below(5))};
    return entry;
  }
  EntryMap map(int size) {
    EntryMap map;
    for (int i = 0; i < size; ++i) {
      BankEntry one = entry();
      EntryKey key = key_of(one);
      map.insert_or_assign(std::move(key), std::move(one));
    }
    return map;
  }

 private:
  std::mt19937 random_;
};

// The merge of maps, as simply as it can be said.
EntryMap merged(EntryMap into, const EntryMap& from) {
  for (const auto& [key, entry] : from) {
    const auto found = into.find(key);
    if (found == into.end()) into.emplace(key, entry);
    else found->second = join(found->second, entry);
  }
  return into;
}

EntryMap contents(const fs::path& file) {
  std::vector<std::string> skipped;
  return joined_entries({file}, skipped);
}

std::string exported(const fs::path& file) {
  std::vector<std::string> skipped;
  return export_text(*Bank::for_reading(file), skipped);
}

TEST(Join, IsASemilattice) {
  RandomEntries random(1);
  for (int i = 0; i < 20000; ++i) {
    BankEntry a = random.entry();
    BankEntry b = random.entry();
    BankEntry c = random.entry();
    b.workload = c.workload = a.workload;
    b.target = c.target = a.target;
    b.allowed = c.allowed = a.allowed;
    ASSERT_EQ(join(a, b), join(b, a));
    ASSERT_EQ(join(join(a, b), c), join(a, join(b, c)));
    ASSERT_EQ(join(a, a), a);
    ASSERT_EQ(compare(a, b), 0 <=> compare(b, a));
    if (compare(a, b) < 0 && compare(b, c) < 0) {
      ASSERT_TRUE(compare(a, c) < 0);
    }
  }
}

TEST(Join, KeepsWhatIsBetterProvenAndAllEvidence) {
  const BankEntry low = some_entry();
  BankEntry high = some_entry();
  high.policy = "loops outer=1 [r:16x4]\n";
  high.total_low = 1.3;
  high.gain.samples = 8;
  high.evidence = {"other/1"};
  high.names = {"/decoder/max"};
  const BankEntry joined = join(low, high);
  EXPECT_EQ(joined.policy, high.policy);
  EXPECT_EQ(joined.gain, high.gain);
  EXPECT_EQ(joined.evidence, (std::set<std::string>{"20261117-a:7", "20261117-a:9", "other/1"}));
  EXPECT_EQ(joined.names, (std::set<std::string>{"/encoder/max", "/decoder/max"}));
  // A policy, however small its gain, takes the place of what is remembered of tuning without gain.
  BankEntry none = some_entry();
  none.policy = "";
  none.total_low = 5;
  EXPECT_EQ(join(none, low).policy, low.policy);
  // Of two such entries the later one stays: the other may be aged.
  BankEntry later = none;
  later.effort = "O2 10s";
  later.total_low = 1;
  later.date = "2026-12-01T00:00:00Z";
  none.effort = "O1";
  EXPECT_EQ(join(none, later).effort, "O2 10s");
  EXPECT_EQ(join(later, none).effort, "O2 10s");
}

TEST(Effort, IsComparedByCandidatesAndBudget) {
  EXPECT_TRUE(is_no_higher("O2", "O2"));
  EXPECT_TRUE(is_no_higher("O2", "O1"));
  EXPECT_FALSE(is_no_higher("O1", "O2"));
  EXPECT_TRUE(is_no_higher("O1", "O2 deeper"));
  EXPECT_TRUE(is_no_higher("O2 90s", "O2"));
  EXPECT_FALSE(is_no_higher("O2", "O2 90s"));
  EXPECT_FALSE(is_no_higher("O2 120s", "O1 90s"));
  EXPECT_FALSE(is_no_higher("O2", "what a later version does"));
}

TEST(BankMerge, OfFilesIsCommutativeAssociativeAndIdempotent) {
  const TemporaryFolder folder;
  RandomEntries random(2);
  for (int round = 0; round < 20; ++round) {
    const auto file = [&](const char* name) {
      return folder.path() / (std::to_string(round) + name + ".db");
    };
    const auto merge = [&](const std::vector<fs::path>& from, const fs::path& into) {
      std::vector<std::string> skipped;
      return merge_into(into, joined_entries(from, skipped), false);
    };
    EntryMap expected;
    std::vector<fs::path> sources;
    for (const char* name : {"a", "b", "c"}) {
      const EntryMap entries = random.map(15);
      merge_into(file(name), entries, false);
      ASSERT_EQ(contents(file(name)), entries);
      expected = merged(expected, entries);
      sources.push_back(file(name));
    }
    merge(sources, file("at once"));
    for (const size_t i : {2, 0, 1}) merge({sources[i]}, file("one by one"));
    merge({sources[1], sources[0]}, file("part"));
    merge({file("part"), sources[2]}, file("in parts"));
    for (const char* name : {"at once", "one by one", "in parts"}) {
      ASSERT_EQ(contents(file(name)), expected) << name;
      ASSERT_EQ(exported(file(name)), exported(file("at once"))) << name;
    }
    const MergeReport again = merge(sources, file("at once"));
    EXPECT_EQ(again.kept, static_cast<int64_t>(expected.size()));
    EXPECT_EQ(again.added + again.updated, 0);
  }
}

// Random operations on a bank and on a map.
TEST(BankMerge, ABankDoesWhatAMapDoes) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "op.db";
  RandomEntries random(3);
  EntryMap model;
  for (int step = 0; step < 400; ++step) {
    if (random.below(4) > 0 || model.empty()) {
      const EntryMap entries = random.map(1 + random.below(4));
      int64_t added = 0;
      int64_t kept = 0;
      for (const auto& [key, entry] : entries) {
        const auto found = model.find(key);
        added += found == model.end() ? 1 : 0;
        kept += found != model.end() && join(found->second, entry) == found->second ? 1 : 0;
      }
      const bool dry_run = random.below(4) == 0;
      const MergeReport report = merge_into(file, entries, dry_run);
      ASSERT_EQ(report.added, added);
      ASSERT_EQ(report.kept, kept);
      ASSERT_EQ(report.updated, static_cast<int64_t>(entries.size()) - added - kept);
      if (!dry_run) model = merged(model, entries);
    } else {
      auto victim = model.begin();
      std::advance(victim, random.below(static_cast<int>(model.size())));
      Bank bank = Bank::for_writing(file, kSomeTarget.soc_version);
      const std::vector<StoredEntry> stored = bank.entries();
      BankWriter writer(bank);
      for (const StoredEntry& one : stored) {
        if (key_of(one.entry) == victim->first) writer.remove(one);
      }
      if (random.below(3) == 0) continue;  // without commit()
      writer.commit();
      model.erase(victim);
    }
    if (model.empty()) continue;
    ASSERT_EQ(contents(file), model);
  }
}

TEST(BankMerge, ExportAndImportGiveTheSameBank) {
  const TemporaryFolder folder;
  RandomEntries random(4);
  EntryMap entries = random.map(30);
  BankEntry odd = some_entry(77);
  odd.names = {"a \"quoted\" name", "näme", "two\tparts"};
  odd.total_low = 1.0 / 3;
  odd.gain.before_ns = 1e-300;
  entries.emplace(key_of(odd), odd);
  merge_into(folder.path() / "a.db", entries, false);
  const std::string text = exported(folder.path() / "a.db");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), static_cast<long>(entries.size()));
  std::vector<std::string> skipped;
  const EntryMap read = imported_entries(text, "the text", skipped);
  EXPECT_TRUE(skipped.empty());
  EXPECT_EQ(read, entries);
  merge_into(folder.path() / "b.db", read, false);
  EXPECT_EQ(exported(folder.path() / "b.db"), text);
}

TEST(BankMerge, LinesThatAreNoEntriesAreSkipped) {
  std::string text = line_of(some_entry(0)) + "\n\nwords\n{}\n";
  const std::function<void(BankEntry&)> inconsistent[] = {
      [](BankEntry& e) { e.gain.speedup_low = -1; },    [](BankEntry& e) { e.total_low = 1.7e308; },
      [](BankEntry& e) { e.gain.speedup_high = 1e10; }, [](BankEntry& e) { e.target.threads = 0; },
      [](BankEntry& e) { e.target.threads = 100000; },
  };
  for (const auto& change : inconsistent) {
    BankEntry entry = some_entry(1);
    change(entry);
    text += line_of(entry) + "\n";
  }
  // Converting these would make them numbers of other entries.
  for (const char* threads :
       {"4294967298", "2.7", "true", "1e300", "18446744073709551617", "\"2\""}) {
    nlohmann::ordered_json entry = json_of(some_entry(2));
    entry["threads"] = nlohmann::ordered_json::parse(threads);
    text += entry.dump() + "\n";
  }
  std::vector<std::string> skipped;
  EXPECT_EQ(imported_entries(text, "'file'", skipped).size(), 1U);
  ASSERT_EQ(skipped.size(), 2 + std::size(inconsistent) + 6);
  EXPECT_NE(skipped[0].find("'file', line 3: "), std::string::npos) << skipped[0];
  EXPECT_NE(skipped[2].find("line 5: its measurements"), std::string::npos) << skipped[2];
  EXPECT_NE(skipped[7].find("its 'threads' is not an integer"), std::string::npos) << skipped[7];
}

TEST(BankMerge, WhatIsImportedTwiceIsThereOnce) {
  const TemporaryFolder folder;
  nlohmann::ordered_json odd = json_of(some_entry());
  odd["names"] = {"", "b", "two\nlines"};
  odd["evidence"] = {""};
  odd["noise_floor"] = -0.0;
  const fs::path file = folder.path() / "op.db";
  std::vector<std::string> skipped;
  const EntryMap entries = imported_entries(odd.dump() + "\n", "the text", skipped);
  EXPECT_EQ(merge_into(file, entries, false).added, 1);
  EXPECT_EQ(merge_into(file, entries, false).kept, 1);
  EXPECT_TRUE(problems_of(*Bank::for_reading(file)).empty());
  EXPECT_EQ(contents(file), entries);
}

TEST(BankMerge, AnEntryThatNobodyCouldReadIsNotWritten) {
  const TemporaryFolder folder;
  BankEntry entry = some_entry();
  entry.total_low = std::numeric_limits<double>::infinity();
  const auto act = [&] { merge_into(folder.path() / "op.db", {{key_of(entry), entry}}, false); };
  EXPECT_NE(message_of(act).find("are not stored"), std::string::npos);
  EXPECT_EQ(speed_up_of_both(1e9, 3), 1e9);
}

TEST(BankMerge, AnExportDoesNotReplaceADatabase) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "op.db";
  merge_into(file, {{key_of(some_entry()), some_entry()}}, false);
  const std::string text = exported(file);
  EXPECT_NE(message_of([&] { write_export(file, text); }).find("it is a database"),
            std::string::npos);
  EXPECT_EQ(exported(file), text);
  const fs::path lines = folder.path() / "lines";
  write_export(lines, text);
  write_export(lines, text);
  EXPECT_EQ(fs::file_size(lines), text.size());
}

TEST(BankMerge, WhatIsNotGoodIsSkippedAndStays) {
  const TemporaryFolder folder;
  const fs::path from = folder.path() / "from.db";
  const fs::path into = folder.path() / "into.db";
  EntryMap entries;
  for (int i = 0; i < 4; ++i) entries.emplace(key_of(some_entry(i)), some_entry(i));
  merge_into(from, entries, false);
  Database(from, Database::Access::write)
      .run(
          "UPDATE policies SET format = 9 WHERE id = 1; UPDATE policies SET policy = 'x' WHERE id "
          "= 2");
  std::vector<std::string> skipped;
  merge_into(into, joined_entries({from}, skipped), false);
  EXPECT_EQ(skipped.size(), 2U);
  EXPECT_EQ(contents(into).size(), 2U);
  EXPECT_EQ(Bank::for_reading(from)->entries().size(), 4U);
}

TEST(BankMerge, BanksOfOtherProcessorsAreRefusedByName) {
  const TemporaryFolder folder;
  BankEntry other = some_entry();
  other.target.soc_version = "x86_64_skylake";
  const fs::path ours = folder.path() / "ours.db";
  const fs::path theirs = folder.path() / "theirs.db";
  merge_into(ours, {{key_of(some_entry()), some_entry()}}, false);
  merge_into(theirs, {{key_of(other), other}}, false);
  const std::string both = exported(ours) + exported(theirs);
  std::vector<std::string> skipped;
  for (const auto& act : std::vector<std::function<void()>>{
           [&] { joined_entries({ours, theirs}, skipped); },
           [&] { merge_into(ours, joined_entries({theirs}, skipped), false); },
           [&] { merge_into(ours, joined_entries({theirs}, skipped), true); },
           [&] { imported_entries(both, "lines", skipped); }}) {
    const std::string message = message_of(act);
    EXPECT_NE(message.find("x86_64_znver4"), std::string::npos) << message;
    EXPECT_NE(message.find("x86_64_skylake"), std::string::npos) << message;
  }
  EXPECT_EQ(contents(ours).size(), 1U);
}

TEST(BankMerge, ConflictsCanBeDecidedByMeasuring) {
  const TemporaryFolder folder;
  const auto file = [&](const char* name) { return folder.path() / name; };
  const BankEntry ours = some_entry();
  BankEntry theirs = some_entry();
  theirs.policy = "loops outer=1 [r:16x4]\n";
  theirs.total_low = ours.total_low / 2;
  const EntryMap our_entries{{key_of(ours), ours}};
  const EntryMap their_entries{{key_of(theirs), theirs}};
  int asked = 0;
  const auto measure = [&](const Conflict& conflict) -> std::optional<BankEntry> {
    ++asked;
    EXPECT_EQ(conflict.ours, ours);
    EXPECT_EQ(conflict.theirs, theirs);
    BankEntry faster = theirs;
    faster.total_low = ours.total_low * 1.1;
    return faster;
  };
  const auto keep = [](const Conflict&) { return std::nullopt; };
  const auto policy_in = [&](const char* name) {
    return contents(file(name)).begin()->second.policy;
  };
  for (const char* name : {"ours", "same", "kept"}) merge_into(file(name), our_entries, false);
  merge_into(file("theirs"), their_entries, false);
  merge_into(file("kept"), their_entries, false, keep);
  EXPECT_EQ(policy_in("kept"), ours.policy);
  EXPECT_EQ(merge_into(file("same"), our_entries, false, measure).kept, 1);
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(merge_into(file("same"), their_entries, false, measure).updated, 1);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(policy_in("same"), theirs.policy);
  // Between the sources of a merge too.
  std::vector<std::string> skipped;
  const EntryMap both = joined_entries({file("ours"), file("theirs")}, skipped, measure);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(both.begin()->second.policy, theirs.policy);
}

TEST(BankMerge, DifferencesAreInContentsOnly) {
  const BankEntry same = some_entry(0);
  BankEntry more_evidence = same;
  more_evidence.evidence.insert("other");
  BankEntry changed = some_entry(1);
  changed.policy = "other";
  EntryMap a, b;
  for (const BankEntry& one : {same, some_entry(1), some_entry(2)}) a.emplace(key_of(one), one);
  for (const BankEntry& one : {more_evidence, changed, some_entry(3)}) b.emplace(key_of(one), one);
  const std::vector<Difference> found = differences(a, b);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].second->policy, "other");
  EXPECT_FALSE(found[1].second);
  EXPECT_FALSE(found[2].first);
}

}  // namespace
}  // namespace aoe
