#include "tune/job/job.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "tests/cpp/fake_runner.h"
#include "tests/cpp/temporary_folder.h"
#include "tune/job/claims.h"
#include "tune/runner/journaled_runner.h"

namespace aoe {
namespace {

TEST(Job, FindsAndProvesWhatIsFaster) {
  FakeRunner runner({});
  const JobResult result = tuned_operators(runner, {});
  ASSERT_EQ(result.accepted.size(), 2u);
  for (const Accepted& one : result.accepted) {
    const double truth = 1 / runner.factor(one.candidate);
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
    FakeRunner runner({.no_better = true}, seed);
    const JobResult result = tuned_operators(runner, {.seed = seed, .samples = 8});
    EXPECT_TRUE(result.accepted.empty());
    EXPECT_FALSE(result.gain);
  }
}

// Records which candidates were compiled without failure, and which were timed.
class RecordingRunner : public FakeRunner {
 public:
  using FakeRunner::FakeRunner;
  Answer ask(const Request& request) override {
    Answer done = FakeRunner::ask(request);
    for (size_t i = 0; i < request.compile.size(); ++i) {
      if (!done.compiled[i]) compiled.insert(request.compile[i]);
    }
    for (size_t p = 0; p < done.measured.passes.size(); ++p) {
      for (const CandidateId id : request.measure.passes[p].workloads) {
        if (id != CandidateId::baseline) timed.insert(request.measure.candidates[index_of(id)]);
      }
    }
    return done;
  }
  std::set<Candidate> compiled, timed;
};

TEST(Job, LosesNothingButTheCandidatesThatFail) {
  RecordingRunner runner({.some_crash = true, .some_are_wrong = true});
  const JobResult result = tuned_operators(runner, {});
  EXPECT_EQ(result.accepted.size(), 2u);
  for (const Accepted& one : result.accepted) {
    EXPECT_FALSE(runner.is_wrong(one.candidate));
    EXPECT_FALSE(runner.crashes(one.candidate));
  }
  // A crash ends a batch of up to sixteen candidates: the others are timed without the culprit.
  size_t crashed = 0;
  for (const Candidate& one : runner.compiled) {
    const bool is_baseline =
        one.choice == runner.opened().workloads[static_cast<size_t>(one.workload)].policy;
    if (is_baseline) continue;
    EXPECT_EQ(runner.timed.contains(one), !runner.crashes(one)) << one.choice;
    if (runner.crashes(one)) ++crashed;
  }
  EXPECT_GT(crashed, 0u);
}

// Candidates of workload 0 pass their screening and crash later.
TEST(Job, ACrashInARaceOrConfirmationCostsThatCandidateOnly) {
  enum class When : uint8_t { race, confirmation };
  class LateCrashes : public FakeRunner {
   public:
    explicit LateCrashes(When when) : FakeRunner({}), when_(when) {}
    bool crashes_in(const Candidate& candidate, const PassesRequest& request) const override {
      const bool screening = !request.limits_ns.empty();
      return candidate.workload == 0 && !screening &&
             request.fresh == (when_ == When::confirmation);
    }

   private:
    When when_;
  };
  for (const When when : {When::race, When::confirmation}) {
    LateCrashes runner(when);
    const JobResult result = tuned_operators(runner, {});
    ASSERT_EQ(result.accepted.size(), 1u);
    EXPECT_EQ(result.accepted[0].candidate.workload, 1);
  }
}

// Whether a request compares the policies of both workloads as one group: the whole model. Its
// candidates are the policies, then their twins; single policies are followed by their twins.
bool is_of_whole_model(const OpenedModel& opened, const PassesRequest& request) {
  return request.fresh && request.candidates.size() == 4 &&
         request.candidates[1].choice != opened.workloads[0].policy;
}

TEST(Job, DropsAPolicyThatIsSlowerBesideTheOthers) {
  class Interference : public FakeRunner {
   public:
    Interference() : FakeRunner({}) {}
    Answer ask(const Request& request) override {
      Answer done = FakeRunner::ask(request);
      if (!is_of_whole_model(opened_, request.measure)) return done;
      for (size_t p = 0; p < done.measured.passes.size(); ++p) {
        Pass& pass = done.measured.passes[p];
        if (index_of(request.measure.passes[p].workloads[0]) != 0) continue;
        // From some 0.7 to 1.1 times the baseline's time: the model still gains.
        pass.total_ns += 0.6 * pass.workload_ns[0];
        pass.workload_ns[0] *= 1.6;
      }
      return done;
    }
  };
  Interference runner;
  const JobResult result = tuned_operators(runner, {});
  ASSERT_EQ(result.accepted.size(), 1u);
  EXPECT_EQ(result.accepted[0].candidate.workload, 1);
  EXPECT_GT(result.accepted[0].gain.speedup_low, 1);
  EXPECT_EQ(result.dropped, 1u);
  EXPECT_FALSE(result.gain) << "of the policy that is left alone, nothing was proven";
  EXPECT_GT(result.unproven_gain->speedup_low, 1);
}

TEST(Job, AKillFromOutsideIsNoFaultOfThePolicyThatWasRunning) {
  class KilledOnce : public FakeRunner {
   public:
    KilledOnce() : FakeRunner({}) {}
    Answer ask(const Request& request) override {
      Answer done = FakeRunner::ask(request);
      if (is_of_whole_model(opened_, request.measure) && !killed_) {
        killed_ = true;
        done.measured = {{}, {{id_of(0), {Cause::killed, "signal 9"}}}};
      }
      return done;
    }
    bool killed_ = false;
  };
  KilledOnce runner;
  const JobResult result = tuned_operators(runner, {});
  EXPECT_TRUE(runner.killed_);
  EXPECT_EQ(result.accepted.size(), 2u);
  EXPECT_TRUE(result.gain);
}

// A worker that dies again and again without a candidate to blame ends the job, not hangs it.
TEST(Job, EndsIfEveryWorkerIsLost) {
  class NoWorkers : public FakeRunner {
   public:
    NoWorkers() : FakeRunner({}) {}
    Answer ask(const Request& request) override {
      Answer done = FakeRunner::ask(request);
      if (!request.measure.passes.empty()) {
        done.measured = {{}, {{CandidateId::baseline, {Cause::killed, "killed"}}}};
      }
      return done;
    }
  };
  NoWorkers runner;
  EXPECT_TRUE(tuned_operators(runner, {}).accepted.empty());
}

// The second pass of a pair is faster, and the first passes of a process are slow: neither may
// favour one side.
TEST(Job, IsNotDeceivedByTheOrderOfPasses) {
  class Ordered : public FakeRunner {
   public:
    explicit Ordered(uint64_t seed) : FakeRunner({.no_better = true}, seed) {}
    double pass_factor(const PassesRequest& request, size_t pass) const override {
      if (!request.fresh) return 1;
      if (pass < 2) return pass == 0 ? 3 : 2;
      return pass % 2 == 1 ? 0.95 : 1;
    }
  };
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Ordered runner(seed);
    const JobResult result = tuned_operators(runner, {.seed = seed, .samples = 8});
    EXPECT_TRUE(result.accepted.empty());
  }
}

TEST(Job, EndsInTime) {
  FakeRunner runner({});
  const JobResult result = tuned_operators(runner, {.samples = 1000, .budget_s = 60});
  EXPECT_LE(result.elapsed_s, 60.5);
  EXPECT_FALSE(result.accepted.empty());
}

TEST(Job, TunesWhatIsChosenOnly) {
  FakeRunner runner({});
  const JobResult result = tuned_operators(runner, {}, {.chosen = {false, true}});
  ASSERT_EQ(result.accepted.size(), 1u);
  EXPECT_EQ(result.accepted[0].candidate.workload, 1);
}

// Opens the model with policies other than the defaults, as a bank would give.
class RunnerWithBank : public FakeRunner {
 public:
  RunnerWithBank() : FakeRunner({}) {
    Random random(1);
    for (OpenWorkload& one : opened_.workloads) {
      const auto workload = std::make_shared<const Workload>(parse_workload(one.text));
      one.policy = to_string(Space(workload, host_device()).sample(random), *workload);
    }
  }
};

TEST(Claims, AreComparedWithWhatIsMeasuredNow) {
  RunnerWithBank runner;
  const OpenedModel opened = runner.open();
  // The defaults' times divided by those of the bank's policies.
  std::vector<double> truths;
  for (size_t i = 0; i < opened.workloads.size(); ++i) {
    const Workload workload = parse_workload(opened.workloads[i].text);
    const std::string by_default = to_string(default_policy(workload, host_device()), workload);
    ASSERT_NE(by_default, opened.workloads[i].policy);
    truths.push_back(runner.factor({static_cast<int>(i), by_default}));
  }
  ASSERT_NE(truths[0], truths[1]);
  const auto claims_of = [&](double low, double high) {
    std::vector<LookupResult> entries(2);
    for (size_t i = 0; i < 2; ++i) {
      entries[i].entry.emplace();
      entries[i].entry->gain.speedup_low = low * truths[i];
      entries[i].entry->gain.speedup_high = high * truths[i];
    }
    return measured_claims(runner, opened, entries, host_device(), [](double) {});
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
  EXPECT_TRUE(
      measured_claims(runner, opened, std::vector<LookupResult>(2), host_device(), [](double) {
      }).empty());
}

// A policy that replaced another one of the bank claims to be faster than that, not than the
// default.
TEST(Claims, AreComparedWithThePolicyThatWasReplaced) {
  RunnerWithBank runner;
  const OpenedModel opened = runner.open();
  const auto workload = std::make_shared<const Workload>(parse_workload(opened.workloads[0].text));
  Random random(2);
  const std::string replaced = to_string(Space(workload, host_device()).sample(random), *workload);
  const std::string by_default = to_string(default_policy(*workload, host_device()), *workload);
  const double truth = runner.factor({0, replaced});
  ASSERT_GT(std::abs(truth / runner.factor({0, by_default}) - 1), 0.05);
  std::vector<LookupResult> entries(2);
  entries[0].entry.emplace();
  entries[0].entry->baseline = replaced;
  const std::vector<Claim> claims =
      measured_claims(runner, opened, entries, host_device(), [](double) {});
  ASSERT_EQ(claims.size(), 1u);
  EXPECT_NEAR(claims[0].now.median, truth, 0.01 * truth);
}

TEST(Claims, AreSlowerOnlyBeyondTheMargin) {
  Claim claim{.now = {0.97, 0.96, 0.98}, .margin = 0.01};
  EXPECT_TRUE(claim.is_slower());
  claim.margin = 0.03;
  EXPECT_FALSE(claim.is_slower());
}

TEST(Job, TunesTheKindsOfOperatorsThatAreAskedFor) {
  for (const bool cube : {true, false}) {
    FakeRunner runner({});
    const JobResult result = tuned_operators(runner, {.kinds = {.cube = cube, .vector = !cube}});
    ASSERT_EQ(result.accepted.size(), 1u);
    EXPECT_EQ(result.accepted[0].candidate.workload, cube ? 1 : 0);  // a product, and a sum
  }
  FakeRunner runner({});
  const JobResult none = tuned_operators(runner, {.kinds = {.cube = false, .vector = false}});
  EXPECT_TRUE(none.accepted.empty());
}

// Records what is compiled, in order.
class NotingRunner : public FakeRunner {
 public:
  NotingRunner() : FakeRunner({}) {}
  Answer ask(const Request& request) override {
    for (const Candidate& one : request.compile) compiled.push_back(one);
    return FakeRunner::ask(request);
  }
  std::vector<Candidate> compiled;
};

TEST(Job, TriesTransferSeedsFirst) {
  const char* const other =
      "in %0 f32[32,128]\nweight %1 f32[128,64]\n%2 f32[32,64] = sum(r:128) %0[a, r] * %1[r, b]\n"
      "out %2\n";
  NotingRunner runner;
  const std::vector<TransferSeed> seeds{
      {other, "stage 0 loops\nloops outer=0 [b:4x2 a/3]\n"},
      {other, "not a policy"},
      {"in %0 f32[8]\n%1 f32[8] = exp(%0[a])\nout %1\n", "loops outer=0 [a:4]\n"}};
  tuned_operators(runner, {.samples = 4, .kinds = {.vector = false}}, {.seeds = seeds});
  ASSERT_GE(runner.compiled.size(), 2u);  // the first is the default
  // Unchanged, except for vectors as wide as this machine's.
  EXPECT_TRUE(runner.compiled[1].choice.starts_with("stage 0 loops\nloops outer=0 [b:"));
  EXPECT_TRUE(runner.compiled[1].choice.ends_with("x2 a/3]\n"));
}

TEST(TransferSeeds, AreOfTheSameOperatorAndTheNearestFirst) {
  const auto sum = [](int rows, int columns) {
    return fmt::format(
        "in %0 f32[{0},{1}]\n%1 f32[{0}] = sum(r:{1}) %0[a, r] -> $0 / {1}\nout %1\n", rows,
        columns);
  };
  EXPECT_EQ(operator_text(sum(8, 100)), operator_text(sum(31, 7)));
  EXPECT_NE(operator_text(sum(8, 100)), operator_text("in %0 f32[8]\n%1 f32[8] = %0[a]\nout %1\n"));
  // Digits in names and types are significant.
  EXPECT_NE(operator_text("in %0 f32[8]\nout %0\n"), operator_text("in %0 f64[8]\nout %0\n"));
  EXPECT_NE(operator_text("out %0\n"), operator_text("out %1\n"));
  const std::vector<TransferSeed> known{{sum(64, 64), "a"},      {sum(8, 90), "b"},
                                        {sum(8, 100), "itself"}, {"out\n", "c"},
                                        {sum(8, 200), "d"},      {sum(1000, 1), "e"}};
  const std::vector<TransferSeed> found = transfer_seeds(sum(8, 100), known);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].policy, "b");
  EXPECT_EQ(found[1].policy, "d");
  EXPECT_EQ(found[2].policy, "a");
}

// A machine that stops after some requests; the job is then resumed from its journal.
class StoppingRunner : public FakeRunner {
 public:
  explicit StoppingRunner(int works) : FakeRunner({}), left_(works) {}
  Answer ask(const Request& request) override {
    if (left_-- == 0) throw std::runtime_error("killed");
    return FakeRunner::ask(request);
  }

 private:
  int left_;
};

TEST(Job, ComesToTheSameEndFromItsJournal) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "journal.db";
  const JobOptions options{.samples = 160};  // several rounds
  JobResult whole;
  std::vector<Candidate> proven;  // by the last run, reported when proven
  const JobCalls calls{.proven = [&](const Accepted& one) { proven.push_back(one.candidate); }};
  std::vector<JournalEntry> entries;
  for (int kill = 0;; ++kill) {
    Journal journal(file, kill == 0 ? Journal::Start::fresh : Journal::Start::reload);
    int made = 0;
    JournaledRunner runner(journal, [&]() -> std::unique_ptr<Runner> {
      ++made;
      return std::make_unique<StoppingRunner>(kill < 12 ? 5 : 1000);
    });
    try {
      proven.clear();
      whole = tuned_operators(runner, options, calls);
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
  JournaledRunner replayed(journal, []() -> std::unique_ptr<Runner> {
    ADD_FAILURE() << "something was measured";
    return nullptr;
  });
  const std::vector<Candidate> before = std::exchange(proven, {});
  EXPECT_GE(before.size(), 2u);
  const JobResult again = tuned_operators(replayed, options, calls);
  EXPECT_EQ(proven, before);
  EXPECT_EQ(read_journal(file), entries);
  ASSERT_EQ(again.accepted.size(), whole.accepted.size());
  for (size_t i = 0; i < again.accepted.size(); ++i) {
    EXPECT_EQ(again.accepted[i].candidate, whole.accepted[i].candidate);
    EXPECT_EQ(again.accepted[i].gain, whole.accepted[i].gain);
    EXPECT_EQ(to_string(*again.accepted[i].why), to_string(*whole.accepted[i].why));
  }
  EXPECT_EQ(again.elapsed_s, whole.elapsed_s);
}

// RUN_LOOP of aoe.ini: number of runs of a screening, half of them by the candidate.
TEST(Job, LooksAtCandidatesAsOftenAsItIsTold) {
  class CountingRunner : public FakeRunner {
   public:
    CountingRunner() : FakeRunner({}) {}
    Answer ask(const Request& request) override {
      const bool first_look = !request.compile.empty() && !request.measure.passes.empty();
      std::map<CandidateId, size_t> runs;
      for (const Assignment& assignment : request.measure.passes) {
        for (const CandidateId id : assignment.workloads) ++runs[id];
      }
      for (const auto& [id, count] : runs) {
        if (first_look && id != CandidateId::baseline) counts.insert(count);
      }
      return FakeRunner::ask(request);
    }
    std::set<size_t> counts;  // runs per candidate
  };
  for (const auto& [runs, of_candidate] :
       std::map<size_t, size_t>{{1, 1}, {2, 1}, {7, 4}, {10, 5}, {100, 50}}) {
    CountingRunner runner;
    tuned_operators(runner, {.samples = 16, .runs = runs});
    EXPECT_EQ(runner.counts, std::set<size_t>{of_candidate}) << runs;
  }
  CountingRunner runner;
  tuned_operators(runner, {.samples = 16});
  EXPECT_EQ(runner.counts, std::set<size_t>{5});
}

// Returns what a job logs to standard error at a level.
std::vector<std::string> logged(LogLevel level) {
  FakeRunner runner({.some_are_wrong = true});
  set_log_level(level);
  testing::internal::CaptureStderr();
  tuned_operators(runner, {});
  set_log_level(LogLevel::warning);
  std::vector<std::string> lines;
  std::istringstream stream(testing::internal::GetCapturedStderr());
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Job, LogsItsDecisionsAndItsCandidates) {
  for (const LogLevel quiet : {LogLevel::null, LogLevel::error, LogLevel::warning}) {
    EXPECT_TRUE(logged(quiet).empty());
  }
  const auto count = [](const std::vector<std::string>& lines, const std::string& part) {
    return std::count_if(lines.begin(), lines.end(),
                         [&](const std::string& line) { return line.find(part) != line.npos; });
  };
  const std::vector<std::string> info = logged(LogLevel::info);
  EXPECT_EQ(count(info, "aoe: opened: 2 workloads"), 1);
  EXPECT_GE(count(info, "aoe: round 1: "), 1);
  EXPECT_GE(count(info, "aoe: confirmation of workload 1: accepted"), 1);
  EXPECT_GE(count(info, "aoe: whole model: "), 1);
  EXPECT_EQ(count(info, "candidate for workload"), 0);
  const std::vector<std::string> debug = logged(LogLevel::debug);
  FakeRunner runner({.some_are_wrong = true});
  const size_t tried = tuned_operators(runner, {}).tried;
  EXPECT_EQ(static_cast<size_t>(count(debug, ": compiled, ")), tried);
  EXPECT_GE(count(debug, " of the baseline's time; "), 1);
  EXPECT_GE(count(debug, ": not compiled: wrong_result, wrong; "), 1);
  EXPECT_EQ(debug.size() - static_cast<size_t>(count(debug, "candidate for workload")),
            info.size());
}

}  // namespace
}  // namespace aoe
