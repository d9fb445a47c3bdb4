#include "tune/store.h"

#include <gtest/gtest.h>

#include "expr/parse.h"
#include "policy/policy_text.h"
#include "tests/cpp/bank_entries.h"
#include "tests/cpp/temporary_folder.h"

namespace aoe {
namespace {

namespace fs = std::filesystem;

// Two layers of custom banks and a built-in one.
class StoreTest : public testing::Test {
 protected:
  static BankEntry entry(const char* policy) {
    BankEntry entry = some_entry();
    entry.policy = policy;
    return entry;
  }
  // What is known of the workload.
  KnownInBank known(const JobIdentity& job, Numerics allowed = Numerics::winograd) const {
    return known_in_banks(places_, BankKind::operators, {{max_workload(0), allowed}}, job)[0];
  }
  void put(const fs::path& file, const BankEntry& entry) const {
    Bank::for_writing(file, kSomeTarget.soc_version).merge({entry});
  }

  TemporaryFolder folder_;
  const fs::path mine_ = folder_.path() / "mine" / "op.db";
  const fs::path team_ = folder_.path() / "team" / "op.db";
  const fs::path builtin_ = folder_.path() / "builtin" / "op.db";
  const BankPlaces places_{.custom = {{mine_, mine_}, {team_, team_}},
                           .builtin = {{builtin_, builtin_}}};
  const JobIdentity job_{.id = "job",
                         .began = SystemTime(std::chrono::hours(24 * 365 * 60)),
                         .effort = "O2",
                         .target = kSomeTarget,
                         .fingerprint = some_entry().fingerprint};
};

TEST_F(StoreTest, NothingIsKnownWithoutBanks) {
  EXPECT_FALSE(known(job_).is_in_bank());
  EXPECT_FALSE(known(job_).baseline);
  EXPECT_FALSE(known(job_).is_remembered);
  EXPECT_FALSE(fs::exists(mine_));
}

TEST_F(StoreTest, TheFirstLayerThatHasAPolicyCounts) {
  put(builtin_, entry("built-in"));
  // A policy of the built-in bank is the baseline, but not "in the bank": it is tuned.
  EXPECT_FALSE(known(job_).is_in_bank());
  EXPECT_EQ(known(job_).baseline, "built-in");
  EXPECT_EQ(known(job_).baseline_low, 1.2);
  put(team_, entry("team's"));
  EXPECT_EQ(known(job_).policy, "team's");
  put(mine_, entry("mine"));
  EXPECT_EQ(known(job_).policy, "mine");
  EXPECT_EQ(known(job_).baseline, "mine");
}

TEST_F(StoreTest, EntriesOfOtherVersionsAndProcessorsAreAged) {
  put(mine_, entry("mine"));
  EXPECT_FALSE(known(job_).is_aged);
  JobIdentity elsewhere = job_;
  elsewhere.fingerprint = "microcode 0x1";
  EXPECT_TRUE(known(elsewhere).is_aged);
  EXPECT_EQ(known(elsewhere).policy, "mine");
  BankEntry old = entry("old");
  old.product_version = "0.0.1";
  old.total_low = 2;
  put(mine_, old);
  EXPECT_TRUE(known(job_).is_aged);
}

TEST_F(StoreTest, AnAgedPolicyThatNothingBeatIsAgedNoMore) {
  BankEntry old = entry("old");
  old.product_version = "0.0.1";
  put(team_, old);
  BankEntry by_job = entry_of(job_, {max_workload(0), Numerics::winograd}, "job/3", 10);
  EXPECT_FALSE(rejuvenated(places_, BankKind::operators, "another", by_job));
  const auto kept = rejuvenated(places_, BankKind::operators, "old", by_job);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->gain, old.gain);
  EXPECT_TRUE(kept->evidence.contains("job/3"));
  put(mine_, *kept);
  EXPECT_EQ(known(job_).policy, "old");
  EXPECT_FALSE(known(job_).is_aged);
  // It replaces the old entry where both meet.
  put(team_, *kept);
  EXPECT_EQ(Bank::for_reading(team_)->entries()[0].entry.product_version, AOE_VERSION);
}

TEST_F(StoreTest, TuningWithoutGainIsRememberedWithItsEffort) {
  BankEntry none = entry("");
  none.effort = "O2 90s";
  put(team_, none);
  JobIdentity job = job_;
  const auto remembers = [&](const char* effort, Numerics allowed) {
    job.effort = effort;
    return known(job, allowed).is_remembered;
  };
  EXPECT_TRUE(remembers("O2 90s", Numerics::winograd));
  EXPECT_TRUE(remembers("O2 30s", Numerics::direct));
  EXPECT_FALSE(remembers("O2", Numerics::winograd));
  EXPECT_FALSE(remembers("O1 90s", Numerics::winograd));
  EXPECT_FALSE(remembers("O2 90s", Numerics::strassen));
  job.fingerprint = "microcode 0x1";
  EXPECT_FALSE(remembers("O2 90s", Numerics::winograd));
  job.fingerprint = job_.fingerprint;
  put(mine_, entry("mine"));
  EXPECT_TRUE(known(job).is_in_bank());
}

TEST_F(StoreTest, AProvenPolicyTakesThePlaceOfWhatHadNoGain) {
  Bank bank = Bank::for_writing(mine_, kSomeTarget.soc_version);
  bank.merge({entry("")});
  EXPECT_TRUE(store(bank, entry("proven"), std::nullopt, "name"));
  EXPECT_TRUE(store(bank, entry("proven"), std::nullopt, "name"));  // a resumed job
  ASSERT_EQ(bank.entries().size(), 1U);
  EXPECT_EQ(bank.entries()[0].entry.policy, "proven");
  BankEntry other = entry("other");
  other.evidence = {"other/1"};
  EXPECT_FALSE(store(bank, other, std::nullopt, "name"));
}

TEST_F(StoreTest, WhatIsKnownGoesThroughTheJournal) {
  put(builtin_, entry("built-in"));
  put(mine_, entry("mine"));
  const std::vector<WantedEntry> wanted{{max_workload(0), Numerics::winograd},
                                        {max_workload(1), Numerics::winograd}};
  BankEntry none = some_entry(1);
  none.policy = "";
  put(team_, none);
  JobIdentity job = job_;
  job.effort = none.effort;
  const auto all = known_in_banks(places_, BankKind::operators, wanted, job);
  std::vector<KnownInBank> parsed = parse_known_in_bank(to_json_text(all));
  EXPECT_EQ(parsed[0].policy, "mine");
  EXPECT_EQ(parsed[0].baseline, "mine");
  EXPECT_EQ(parsed[0].baseline_low, 1.2);
  EXPECT_FALSE(parsed[0].is_aged);
  EXPECT_FALSE(parsed[1].policy);
  EXPECT_TRUE(parsed[1].is_remembered);
  job.fingerprint = "microcode 0x1";
  parsed =
      parse_known_in_bank(to_json_text(known_in_banks(places_, BankKind::operators, wanted, job)));
  EXPECT_TRUE(parsed[0].is_aged);
  EXPECT_FALSE(parsed[1].is_remembered);
}

TEST(RunsByTest, ComparesWhatThePoliciesSayHere) {
  OpenWorkload opened;
  opened.text = max_workload(0);
  const Workload workload = parse_workload(opened.text);
  opened.policy = to_string(parse_policy("loops outer=1 [r:8x4]\n", workload), workload);
  EXPECT_TRUE(runs_by(opened, opened.policy));
  EXPECT_TRUE(runs_by(opened, "loops outer=1 [r:8x4]\n"));
  EXPECT_FALSE(runs_by(opened, "loops outer=1 [r:8x1]\n"));
  EXPECT_FALSE(runs_by(opened, "loops outer=1 [z:8x4]\n"));  // not valid
}

TEST_F(StoreTest, SeedsAreOtherShapesOfTheSameOperator) {
  BankEntry sum = some_entry(5);
  sum.workload = "in %0 f32[64]\n%1 f32[] = sum(r:64) %0[r]\nout %1\n";
  put(mine_, some_entry(1));
  put(mine_, sum);
  put(builtin_, some_entry(2));
  put(team_, [] {
    BankEntry none = some_entry(3);
    none.policy = "";
    return none;
  }());
  const auto seeds = seeds_in_banks(places_, {max_workload(9)}, kSomeTarget);
  ASSERT_EQ(seeds.size(), 2U);
  EXPECT_EQ(seeds[0].workload, max_workload(1));
  EXPECT_EQ(seeds[1].workload, max_workload(2));
}

TEST_F(StoreTest, ABankThatCannotBeReadIsANoticeAndTheOthersAreRead) {
  put(team_, entry("team's"));
  put(mine_, entry("mine"));
  fs::resize_file(mine_, 100);
  testing::internal::CaptureStderr();
  EXPECT_EQ(known(job_).policy, "team's");
  EXPECT_NE(testing::internal::GetCapturedStderr().find(mine_.string()), std::string::npos);
}

}  // namespace
}  // namespace aoe
