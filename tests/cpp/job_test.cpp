#include "tune/job.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/cpp/fake_machine.h"
#include "tests/cpp/temporary_folder.h"
#include "tune/claims.h"
#include "tune/journaled_machine.h"

namespace aoe {
namespace {

TEST(Job, FindsAndProvesWhatIsFaster) {
  FakeMachine machine({});
  const JobResult result = tune_operators(machine, host_device(), {});
  ASSERT_EQ(result.accepted.size(), 2u);
  for (const Accepted& one : result.accepted) {
    const double truth = 1 / machine.factor({one.workload, one.policy});
    EXPECT_GT(truth, 1.2);
    EXPECT_LE(one.gain.speedup_low, truth);
    EXPECT_GE(one.gain.speedup_high, truth);
    EXPECT_NEAR(one.gain.before_ns, 5e4, 1e4);  // of one of two uses
    EXPECT_EQ(one.gain.noise_floor, 1.004);
  }
  ASSERT_TRUE(result.gain);
  EXPECT_GT(result.gain->speedup_low, 1.1);
  EXPECT_GT(result.gain->before_ns, result.gain->after_ns);
  EXPECT_EQ(result.before_ns, result.gain->before_ns);
}

TEST(Job, AcceptsNothingWhereNothingIsFaster) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    FakeMachine machine({.no_better = true}, seed);
    const JobResult result = tune_operators(machine, host_device(), {.seed = seed, .samples = 8});
    EXPECT_TRUE(result.accepted.empty());
    EXPECT_FALSE(result.gain);
  }
}

TEST(Job, LosesNothingButTheCandidatesThatFail) {
  FakeMachine machine({.some_crash = true, .some_are_wrong = true});
  const JobResult result = tune_operators(machine, host_device(), {});
  EXPECT_EQ(result.accepted.size(), 2u);
  for (const Accepted& one : result.accepted) {
    EXPECT_FALSE(machine.is_wrong({one.workload, one.policy}));
    EXPECT_FALSE(machine.crashes({one.workload, one.policy}));
  }
}

TEST(Job, EndsInTime) {
  FakeMachine machine({});
  const JobResult result =
      tune_operators(machine, host_device(), {.samples = 1000, .budget_s = 60});
  EXPECT_LE(result.elapsed_s, 60.5);
  EXPECT_FALSE(result.accepted.empty());
}

TEST(Job, TunesWhatIsChosenOnly) {
  FakeMachine machine({});
  JobOptions options;
  options.chosen = [](const std::vector<OpenWorkload>&) { return std::vector<bool>{false, true}; };
  const JobResult result = tune_operators(machine, host_device(), options);
  ASSERT_EQ(result.accepted.size(), 1u);
  EXPECT_EQ(result.accepted[0].workload, 1);
}

TEST(Claims, AreComparedWithWhatIsMeasuredNow) {
  FakeMachine machine({});
  const Opened opened = machine.open();
  // What the defaults take now, as a part of what stands.
  std::vector<double> truths;
  for (size_t i = 0; i < opened.workloads.size(); ++i) {
    truths.push_back(machine.factor({static_cast<int>(i), opened.workloads[i].policy}));
  }
  ASSERT_NE(truths[0], truths[1]);
  const auto claims_of = [&](double low, double high) {
    std::vector<Found> entries(2);
    for (size_t i = 0; i < 2; ++i) {
      entries[i].entry.emplace();
      entries[i].entry->gain.speedup_low = low * truths[i];
      entries[i].entry->gain.speedup_high = high * truths[i];
    }
    return measured_claims(machine, opened, entries, host_device(), [](double) {});
  };
  for (const Claim& claim : claims_of(0.95, 1.05)) {
    const double truth = truths[static_cast<size_t>(claim.workload)];
    EXPECT_TRUE(claim.is_covered());
    EXPECT_LE(claim.now.low, truth);
    EXPECT_GE(claim.now.high, truth);
    EXPECT_NEAR(claim.now.median, truth, 0.01);
    EXPECT_EQ(claim.is_slower(), truth < 0.99);
  }
  for (const Claim& claim : claims_of(1.05, 1.2)) EXPECT_FALSE(claim.is_covered());
  EXPECT_TRUE(measured_claims(machine, opened, std::vector<Found>(2), host_device(), [](double) {
              }).empty());
}

TEST(Job, TunesTheKindsOfOperatorsThatAreAskedFor) {
  for (const bool cube : {true, false}) {
    FakeMachine machine({});
    const JobResult result =
        tune_operators(machine, host_device(), {.kinds = {.cube = cube, .vector = !cube}});
    ASSERT_EQ(result.accepted.size(), 1u);
    EXPECT_EQ(result.accepted[0].workload, cube ? 1 : 0);  // a product, and a sum
  }
  FakeMachine machine({});
  const JobResult none =
      tune_operators(machine, host_device(), {.kinds = {.cube = false, .vector = false}});
  EXPECT_TRUE(none.accepted.empty());
}

// Notes what is compiled, in order.
class NotingMachine : public FakeMachine {
 public:
  NotingMachine() : FakeMachine({}) {}
  Done work(const Work& work) override {
    for (const Proposal& one : work.compile) compiled.push_back(one);
    return FakeMachine::work(work);
  }
  std::vector<Proposal> compiled;
};

TEST(Job, BeginsWithWhatIsKnownOfOtherShapes) {
  const char* const other =
      "in %0 f32[32,128]\nweight %1 f32[128,64]\n%2 f32[32,64] = sum(r:128) %0[a, r] * %1[r, b]\n"
      "out %2\n";
  NotingMachine machine;
  JobOptions options{.samples = 4, .kinds = {.vector = false}};
  options.known = [&] {
    return std::vector<Relative>{
        {other, "stage 0 loops\nloops outer=0 [b:4x2 a/3]\n"},
        {other, "not a policy"},
        {"in %0 f32[8]\n%1 f32[8] = exp(%0[a])\nout %1\n", "loops outer=0 [a:4]\n"}};
  };
  tune_operators(machine, host_device(), options);
  ASSERT_GE(machine.compiled.size(), 2u);  // the first is the default
  // As it is, but for vectors as wide as this machine has them.
  EXPECT_TRUE(machine.compiled[1].policy.starts_with("stage 0 loops\nloops outer=0 [b:"));
  EXPECT_TRUE(machine.compiled[1].policy.ends_with("x2 a/3]\n"));
}

TEST(Relatives, AreOfTheSameOperatorAndTheNearestFirst) {
  const auto sum = [](int rows, int columns) {
    return fmt::format(
        "in %0 f32[{0},{1}]\n%1 f32[{0}] = sum(r:{1}) %0[a, r] -> $0 / {1}\nout %1\n", rows,
        columns);
  };
  EXPECT_EQ(operator_text(sum(8, 100)), operator_text(sum(31, 7)));
  EXPECT_NE(operator_text(sum(8, 100)), operator_text("in %0 f32[8]\n%1 f32[8] = %0[a]\nout %1\n"));
  // Names and types have digits of their own.
  EXPECT_NE(operator_text("in %0 f32[8]\nout %0\n"), operator_text("in %0 f64[8]\nout %0\n"));
  EXPECT_NE(operator_text("out %0\n"), operator_text("out %1\n"));
  const std::vector<Relative> known{{sum(64, 64), "a"}, {sum(8, 90), "b"},  {sum(8, 100), "itself"},
                                    {"out\n", "c"},     {sum(8, 200), "d"}, {sum(1000, 1), "e"}};
  const std::vector<Relative> found = relatives_of(sum(8, 100), known);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].policy, "b");
  EXPECT_EQ(found[1].policy, "d");
  EXPECT_EQ(found[2].policy, "a");
}

// A machine that stops after some requests: the job is then gone on with from its journal.
class StoppingMachine : public FakeMachine {
 public:
  explicit StoppingMachine(int works) : FakeMachine({}), left_(works) {}
  Done work(const Work& work) override {
    if (left_-- == 0) throw std::runtime_error("killed");
    return FakeMachine::work(work);
  }

 private:
  int left_;
};

TEST(Job, ComesToTheSameEndFromItsJournal) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "journal.db";
  const JobOptions options{.samples = 160};  // several rounds
  JobResult whole;
  std::vector<JournalEntry> entries;
  for (int kill = 0;; ++kill) {
    Journal journal(file, kill == 0 ? Journal::Start::fresh : Journal::Start::reload);
    int made = 0;
    JournaledMachine machine(journal, [&]() -> std::unique_ptr<Machine> {
      ++made;
      return std::make_unique<StoppingMachine>(kill < 12 ? 5 : 1000);
    });
    try {
      whole = tune_operators(machine, host_device(), options);
      EXPECT_EQ(made, 1);
      break;
    } catch (const std::runtime_error& error) {
      ASSERT_STREQ(error.what(), "killed");
    }
  }
  entries = read_journal(file);
  EXPECT_EQ(whole.accepted.size(), 2u);
  const auto rounds = std::count_if(entries.begin(), entries.end(), [](const JournalEntry& entry) {
    return entry.request.starts_with("round ");
  });
  EXPECT_GE(rounds, 2);
  // Once more, without any machine.
  Journal journal(file, Journal::Start::reload);
  JournaledMachine replayed(journal, []() -> std::unique_ptr<Machine> {
    ADD_FAILURE() << "something was measured";
    return nullptr;
  });
  const JobResult again = tune_operators(replayed, host_device(), options);
  EXPECT_EQ(read_journal(file), entries);
  ASSERT_EQ(again.accepted.size(), whole.accepted.size());
  for (size_t i = 0; i < again.accepted.size(); ++i) {
    EXPECT_EQ(again.accepted[i].policy, whole.accepted[i].policy);
    EXPECT_EQ(again.accepted[i].gain, whole.accepted[i].gain);
    EXPECT_EQ(to_string(*again.accepted[i].why), to_string(*whole.accepted[i].why));
  }
  EXPECT_EQ(again.elapsed_s, whole.elapsed_s);
}

}  // namespace
}  // namespace aoe
