#include "bank/listing.h"

#include <gtest/gtest.h>

#include "bank/bank_writer.h"
#include "tests/cpp/bank_entries.h"
#include "tests/cpp/temporary_folder.h"

namespace aoe {
namespace {

// Five entries with growing gains; the names and types of some differ.
class BankListingTest : public testing::Test {
 protected:
  BankListingTest() {
    BankWriter writer(bank_);
    for (int i = 0; i < 5; ++i) {
      BankEntry entry = some_entry(i);
      entry.total_low = 1 + 0.1 * i;
      entry.gain.after_ns = 1000 - 100 * i;
      entry.date = "2026-11-1" + std::to_string((i * 3) % 5) + "T00:00:00Z";
      if (i == 1) entry.names = {"conv1", "/Layer1/relu"};
      if (i == 2) entry.types = {"Conv", "Relu"};
      if (i == 3) entry.target.threads = 1;
      if (i == 4) entry.policy = "stage 0 winograd4";
      writer.join(entry);
    }
    writer.commit();
  }
  std::vector<int64_t> ids(const ListingOptions& options) const {
    std::vector<int64_t> ids;
    for (const StoredEntry& one : list_entries(bank_, options).page) ids.push_back(one.id);
    return ids;
  }
  size_t named(const std::string& text) const { return entries_named(bank_, text).size(); }

  TemporaryFolder folder_;
  Bank bank_ = Bank::for_writing(folder_.path() / "op.db", kSomeTarget.soc_version);
};

using Ids = std::vector<int64_t>;

TEST_F(BankListingTest, SortsAndPages) {
  using Sort = ListingOptions::Sort;
  EXPECT_EQ(ids({}), (Ids{5, 4, 3, 2, 1}));
  EXPECT_EQ(ids({.sort = Sort::time}), (Ids{1, 2, 3, 4, 5}));
  EXPECT_EQ(ids({.sort = Sort::date}), (Ids{4, 2, 5, 3, 1}));
  EXPECT_EQ(ids({.sort = Sort::id}), (Ids{1, 2, 3, 4, 5}));
  EXPECT_EQ(ids({.limit = 2}), (Ids{5, 4}));
  EXPECT_EQ(ids({.limit = 2, .offset = 2}), (Ids{3, 2}));
  EXPECT_EQ(ids({.limit = 2, .offset = 4}), (Ids{1}));
  EXPECT_EQ(list_entries(bank_, {.limit = 2, .offset = 4}).total, 5);
}

TEST_F(BankListingTest, Filters) {
  EXPECT_EQ(ids({.op = "conv1"}), (Ids{2}));
  EXPECT_EQ(ids({.op = "LAYER1"}), (Ids{2}));
  EXPECT_EQ(ids({.op = "Conv"}), (Ids{3, 2}));  // a type, and part of a name
  EXPECT_EQ(ids({.op = "Relu"}), (Ids{3, 2}));
  EXPECT_EQ(ids({.op = "%"}), (Ids{}));
  EXPECT_EQ(ids({.threads = 1}), (Ids{4}));
  EXPECT_EQ(ids({.numerics = "winograd"}), (Ids{5}));
  EXPECT_EQ(list_entries(bank_, {.threads = 2, .numerics = "direct", .limit = 1}).total, 3);
}

TEST_F(BankListingTest, EntriesHaveNames) {
  const std::string key = key_text(max_workload(1));
  EXPECT_EQ(named(key), 1U);
  EXPECT_EQ(named(key.substr(0, 12)), 1U);
  EXPECT_EQ(named("conv1"), 1U);
  EXPECT_EQ(named("conv"), 0U);
  EXPECT_EQ(named("/encoder/max"), 4U);
  // repo_key of a result file.
  EXPECT_EQ(named(std::to_string(std::stoull(key, nullptr, 16))), 1U);
  EXPECT_EQ(named("*"), 0U);
  EXPECT_EQ(named(""), 0U);
}

TEST_F(BankListingTest, PrunesWhatTuningDoesNotHeed) {
  BankEntry old = some_entry(10);
  old.policy = "";
  old.product_version = "0.0.1";
  BankEntry heeded = some_entry(11);
  heeded.policy = "";
  BankEntry aged = some_entry(12);
  aged.product_version = "0.0.1";
  for (const BankEntry& one : {old, heeded, aged}) bank_.merge({one});
  const auto is_aged = [](const BankEntry& one) { return one.product_version != AOE_VERSION; };
  const auto pruned = [&](bool aged_policies) {
    std::vector<std::string> workloads;
    for (const StoredEntry& one : entries_to_prune(bank_, aged_policies, is_aged)) {
      workloads.push_back(one.entry.workload);
    }
    return workloads;
  };
  EXPECT_EQ(pruned(false), std::vector<std::string>{old.workload});
  EXPECT_EQ(pruned(true), (std::vector<std::string>{old.workload, aged.workload}));
}

}  // namespace
}  // namespace aoe
