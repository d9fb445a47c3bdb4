#include "measure/worker/worker_client.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "device/system_text.h"
#include "tests/cpp/small_networks.h"
#include "tests/cpp/temporary_folder.h"

namespace aoe {
namespace {

constexpr const char* kProduct =
    "in %0 f32[24,40]\n"
    "weight %1 f32[40,56]\n"
    "%2 f32[24,56] = sum(r:40) %0[a, r] * %1[r, b]\n"
    "out %2\n";

// Sets the worker's fault injection variable for its lifetime.
class Faults {
 public:
  explicit Faults(const std::string& text) { setenv("AOE_INJECT_FAULT", text.c_str(), 1); }
  ~Faults() { unsetenv("AOE_INJECT_FAULT"); }
};

// A time limit that a busy machine does not exceed, except for faults that hang.
WorkerOptions options(const std::string& fault = {}) {
  WorkerOptions options;
  options.program = AOE_PROGRAM;
  options.run_seconds = fault == "endless_loop" ? 1 : 60;
  return options;
}

// Under a sanitizer, a failed allocation ends the process instead of throwing.
bool may_run(const std::string& fault) {
#if defined(__SANITIZE_ADDRESS__)
  return fault != "allocation";
#else
  return !fault.empty();
#endif
}

WorkerTarget product() { return {.model = {}, .workload = kProduct}; }

std::optional<Failure> failure_of(const std::variant<CandidateId, Failure>& compiled) {
  const Failure* const failure = std::get_if<Failure>(&compiled);
  return failure != nullptr ? std::optional(*failure) : std::nullopt;
}

CandidateId candidate_of(const std::variant<CandidateId, Failure>& compiled) {
  const auto failure = failure_of(compiled);
  EXPECT_FALSE(failure) << failure->detail;
  return failure ? CandidateId{-1} : std::get<CandidateId>(compiled);
}

Assignment baseline_of(const Worker& worker) {
  return {std::vector<CandidateId>(worker.workloads().size())};
}

// A network whose convolutions b and c are the same workload with different weights.
class ModelFile {
 public:
  ModelFile() {
    OnnxBuilder b;
    b.input("x", {1, 8, 12, 12});
    std::vector<float> numbers(8 * 8 * 9);
    for (const char* name : {"a", "b", "c"}) {
      for (float& number : numbers) number = std::fmod(number + 0.37F, 1.0F) - 0.4F;
      b.floats(std::string("w") + name, {8, 8, 3, 3}, numbers);
    }
    b.node("Conv", {"x", "wa"}, {"a"});
    OnnxBuilder::set_ints(b.node("Conv", {"a", "wb"}, {"b"}), "pads", {1, 1, 1, 1});
    OnnxBuilder::set_ints(b.node("Conv", {"b", "wc"}, {"c"}), "pads", {1, 1, 1, 1});
    b.node("Softmax", {"c"}, {"y"});
    b.output("y");
    std::ofstream(file(), std::ios::binary) << b.bytes();
  }
  std::filesystem::path file() const { return folder_.path() / "m.onnx"; }

 private:
  TemporaryFolder folder_;
};

TEST(Worker, ChecksAndTimesCandidates) {
  Worker worker(product(), options());
  ASSERT_EQ(worker.workloads().size(), 1u);
  const OpenWorkload& open = worker.workloads()[0];
  EXPECT_EQ(open.text, kProduct);
  EXPECT_GT(open.baseline_ns, 0);
  const CandidateId same = candidate_of(worker.compile({0, open.policy}));
  EXPECT_EQ(same, CandidateId{1});
  for (const Caches caches : {Caches::hot, Caches::cold}) {
    const AloneResult times = worker.alone(0, {same, CandidateId::baseline, same}, caches);
    for (const FailedCandidate& one : times.failed) ADD_FAILURE() << one.failure.detail;
    ASSERT_EQ(times.ns.size(), 3u);
    for (const double ns : times.ns) EXPECT_GT(ns, 0);
  }
  EXPECT_THROW(worker.passes({{{same}}}), Error);
  EXPECT_THROW(worker.alone(0, {CandidateId{7}}, Caches::hot), Error);
  EXPECT_THROW(worker.alone(3, {CandidateId::baseline}, Caches::hot), Error);
  EXPECT_EQ(worker.losses(), 0);
}

TEST(Worker, RefusesWhatIsNoPolicy) {
  Worker worker(product(), options());
  for (const char* text : {"nonsense", "product 0 rows 9999", ""}) {
    const auto failure = failure_of(worker.compile({0, text}));
    ASSERT_TRUE(failure) << text;
    EXPECT_EQ(failure->cause, Cause::illegal_policy) << failure->detail;
  }
  EXPECT_EQ(worker.losses(), 0);
}

TEST(Worker, SaysWhatCannotBeOpened) {
  const TemporaryFolder folder;
  const auto message = [](const WorkerTarget& target, const WorkerOptions& with) -> std::string {
    try {
      Worker worker(target, with);
      return "opened";
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_NE(message({.model = folder.path() / "none.onnx"}, options()).find("none.onnx"),
            std::string::npos);
  EXPECT_NE(message({.model = {}, .workload = "what is this"}, options()), "opened");
  WorkerOptions elsewhere = options();
  elsewhere.program = folder.path() / "aoe";
  EXPECT_NE(message(product(), elsewhere).find("cannot be started"), std::string::npos);
  elsewhere.program = "/bin/false";
  EXPECT_NE(message(product(), elsewhere).find("worker process"), std::string::npos);
}

TEST(Worker, RunsCandidatesInTheirPlaceInTheModel) {
  const ModelFile model;
  Worker worker({.model = model.file(), .workload = {}, .threads = 2}, options());
  const std::vector<OpenWorkload>& open = worker.workloads();
  int64_t uses = 0;
  size_t twice = open.size();
  for (size_t w = 0; w < open.size(); ++w) {
    uses += open[w].uses;
    if (open[w].uses == 2) twice = w;
  }
  ASSERT_LT(twice, open.size());
  EXPECT_EQ(open[twice].nodes.at(0).name, "Conv_b");
  EXPECT_EQ(open[twice].nodes.at(0).type, "Conv");
  EXPECT_EQ(uses, 4);

  Assignment all_new;
  for (size_t w = 0; w < open.size(); ++w) {
    all_new.workloads.push_back(
        candidate_of(worker.compile({static_cast<int>(w), open[w].policy})));
  }
  const Assignment baseline = baseline_of(worker);
  const PassesResult result = worker.passes({baseline, all_new, baseline});
  EXPECT_TRUE(result.failed.empty());
  ASSERT_EQ(result.passes.size(), 3u);
  for (const Pass& pass : result.passes) {
    ASSERT_EQ(pass.workload_ns.size(), open.size());
    double sum = 0;
    for (const double ns : pass.workload_ns) {
      EXPECT_GT(ns, 0);
      sum += ns;
    }
    EXPECT_GE(pass.total_ns, sum);
  }
  const AloneResult alone = worker.alone(
      static_cast<int>(twice), {all_new.workloads[twice], CandidateId::baseline}, Caches::hot);
  EXPECT_EQ(alone.ns.size(), 2u);

  worker.replace();  // the new process knows all candidates
  EXPECT_EQ(worker.passes({all_new}).passes.size(), 1u);

  // Another worker times a candidate that was checked here.
  Worker other({.model = model.file(), .workload = {}}, options());
  Assignment adopted = baseline;
  adopted.workloads[twice] = other.adopt({static_cast<int>(twice), open[twice].policy});
  EXPECT_EQ(other.passes({adopted}).passes.size(), 1u);
  EXPECT_THROW(worker.passes({Assignment{}}), Error);
}

struct FaultCase {
  const char* fault;
  Cause cause;
  const char* detail;  // a part of the message
  int64_t losses;      // lost processes
};

void PrintTo(const FaultCase& fault, std::ostream* stream) { *stream << fault.fault; }

class InjectedFaults : public testing::TestWithParam<FaultCase> {};

TEST_P(InjectedFaults, CostTheCandidateAndNothingElse) {
  const auto& [fault, cause, detail, losses] = GetParam();
  if (!may_run(fault)) GTEST_SKIP();
  const Faults faults(std::string("2:") + fault);
  WorkerOptions limited = options(fault);
  limited.memory_bytes = int64_t{1} << 30;
  Worker worker(product(), limited);
  const std::string policy = worker.workloads()[0].policy;
  const CandidateId before = candidate_of(worker.compile({0, policy}));
  const auto failure = failure_of(worker.compile({0, policy}));
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->cause, cause) << name(failure->cause) << ": " << failure->detail;
  EXPECT_NE(failure->detail.find(detail), std::string::npos) << failure->detail;
  EXPECT_EQ(worker.losses(), losses);
  const CandidateId after = candidate_of(worker.compile({0, policy}));
  EXPECT_EQ(after, CandidateId{3});
  EXPECT_EQ(worker.alone(0, {before, CandidateId::baseline, after}, Caches::hot).ns.size(), 3u);
  EXPECT_THROW(worker.alone(0, {CandidateId{2}}, Caches::hot),
               Error);  // a failed candidate is never timed
}

INSTANTIATE_TEST_SUITE_P(
    Check, InjectedFaults,
    testing::Values(
        FaultCase{"wrong_element", Cause::wrong_result, "output 0, ordinary input: element 672", 0},
        FaultCase{"nan", Cause::not_a_number, "element 672 is nan", 0},
        FaultCase{"before", Cause::out_of_bounds, "1 bytes before output 0", 1},
        FaultCase{"behind", Cause::out_of_bounds, "1 bytes behind output 0", 0},
        FaultCase{"endless_loop", Cause::time_out, "no progress for 1 s", 1},
        FaultCase{"crash", Cause::crash, "signal 11", 1},
        FaultCase{"allocation", Cause::out_of_memory, "more than the worker may have", 0},
        FaultCase{"killed", Cause::killed, "killed", 1}));

class FaultsInTime : public testing::TestWithParam<FaultCase> {};

// A candidate that passed the check may still hang or crash later.
TEST_P(FaultsInTime, CostTheCandidateAndNothingElse) {
  const auto& [fault, cause, detail, losses] = GetParam();
  if (!may_run(fault)) GTEST_SKIP();
  const ModelFile model;
  const Faults faults(std::string("2:") + fault + "@timing");
  WorkerOptions limited = options(fault);
  limited.memory_bytes = int64_t{1} << 30;
  Worker worker({.model = model.file(), .workload = {}}, limited);
  const std::string policy = worker.workloads()[0].policy;
  Assignment good = baseline_of(worker);
  Assignment bad = good;
  good.workloads[0] = candidate_of(worker.compile({0, policy}));
  bad.workloads[0] = candidate_of(worker.compile({0, policy}));
  ASSERT_EQ(bad.workloads[0], CandidateId{2});
  const PassesResult lost = worker.passes({good, bad, good});
  EXPECT_TRUE(lost.passes.empty());
  ASSERT_EQ(lost.failed.size(), 1u);
  EXPECT_EQ(lost.failed[0].candidate, CandidateId{2});
  EXPECT_EQ(lost.failed[0].failure.cause, cause) << lost.failed[0].failure.detail;
  EXPECT_EQ(worker.losses(), losses);
  EXPECT_EQ(worker.passes({good, good}).passes.size(), 2u);
  EXPECT_THROW(worker.passes({bad}), Error);
}

INSTANTIATE_TEST_SUITE_P(Passes, FaultsInTime,
                         testing::Values(FaultCase{"endless_loop", Cause::time_out, "", 1},
                                         FaultCase{"crash", Cause::crash, "", 1},
                                         FaultCase{"allocation", Cause::out_of_memory, "", 0},
                                         FaultCase{"killed", Cause::killed, "", 1}));

TEST(Worker, AbandonsWhatIsTooSlow) {
  const ModelFile model;
  const Faults faults("1:slowed=100000");
  const WorkerOptions patient = options();
  Worker worker({.model = model.file(), .workload = {}}, patient);
  const OpenWorkload& open = worker.workloads()[0];
  const Assignment baseline = baseline_of(worker);
  Assignment slow = baseline;
  slow.workloads[0] = candidate_of(worker.compile({0, open.policy}));
  std::vector<double> limits(baseline.workloads.size(), 0.0);
  limits[0] = 20 * open.baseline_ns;  // a thousandfold is far beyond it on any machine
  const PassesResult result = worker.passes({slow, slow, slow, baseline}, limits);
  ASSERT_EQ(result.passes.size(), 4u);
  // One slow run may be due to an interruption, two are not.
  EXPECT_GT(result.passes[0].workload_ns[0], limits[0]);
  EXPECT_GT(result.passes[1].workload_ns[0], limits[0]);
  EXPECT_TRUE(std::isnan(result.passes[2].workload_ns[0]));
  EXPECT_GT(result.passes[3].workload_ns[0], 0);
  ASSERT_EQ(result.failed.size(), 1u);
  EXPECT_EQ(result.failed[0].failure.cause, Cause::time_out);
  EXPECT_EQ(worker.losses(), 0);
}

TEST(Worker, RefusesFaultsItDoesNotKnow) {
  for (const char* text : {"crash", "x:crash", "1:sleep", "1:slowed", "1:crash=3", "0:crash"}) {
    const Faults faults(text);
    EXPECT_THROW(Worker(product(), options()), Error) << text;
  }
}

TEST(Worker, IsReplacedWhenKilledBetweenRequests) {
  const ModelFile model;
  Worker worker({.model = model.file(), .workload = {}}, options());
  Assignment assignment = baseline_of(worker);
  const auto kill_it = [&] { kill(static_cast<pid_t>(worker.process_id()), SIGKILL); };
  kill_it();
  assignment.workloads[0] = candidate_of(worker.compile({0, worker.workloads()[0].policy}));
  kill_it();
  const PassesResult result = worker.passes({assignment});
  EXPECT_TRUE(result.failed.empty());
  EXPECT_EQ(result.passes.size(), 1u);
  kill_it();
  EXPECT_EQ(worker.alone(0, {assignment.workloads[0]}, Caches::hot).ns.size(), 1u);
  EXPECT_EQ(worker.losses(), 3);
}

TEST(Worker, TimesWorkloadsThatAreNotTheModels) {
  const ModelFile model;
  Worker worker({.model = model.file()}, options());
  const auto rounds = worker.time_tasks({kProduct, "no workload", worker.workloads()[0].text}, 3);
  ASSERT_EQ(rounds.size(), 3u);
  EXPECT_TRUE(rounds[1].empty());
  for (const size_t i : {0, 2}) {
    ASSERT_EQ(rounds[i].size(), 3u);
    for (const double ns : rounds[i]) EXPECT_GT(ns, 0);
  }
}

TEST(Worker, RunsTheModelByTwoPlans) {
  const ModelFile model;
  Worker worker({.model = model.file()}, options());
  const Assignment baseline = baseline_of(worker);
  for (const char* times : {"cube 1\nvector 1\n", "cube 2\nvector 1\n"}) {
    Assignment rival = baseline;
    rival.plan = worker.adopt(plan_candidate({"graph 0", times}));
    const PassesResult result = worker.passes({rival, baseline, baseline, rival});
    EXPECT_TRUE(result.failed.empty());
    ASSERT_EQ(result.passes.size(), 4u);
    for (const Pass& pass : result.passes) {
      EXPECT_GT(pass.total_ns, 0);
      EXPECT_TRUE(pass.workload_ns.empty());
    }
    worker.replace();
    EXPECT_EQ(worker.passes({baseline, rival}).passes.size(), 2u);
    // A plan candidate cannot be combined with other kernels.
    rival.workloads[0] = candidate_of(worker.compile({0, worker.workloads()[0].policy}));
    EXPECT_THROW(worker.passes({rival}), Error);
  }
  EXPECT_THROW(worker.compile(plan_candidate({"graph 0", "cube 1\nvector 1\n"})), Error);
  Assignment unknown = baseline;
  unknown.plan = CandidateId{77};
  EXPECT_THROW(worker.passes({unknown}), Error);
  EXPECT_EQ(worker.losses(), 0);
}

// Waits until the process has ended or is a zombie.
bool ends(pid_t process) {
  for (int i = 0; i < 2000; ++i) {
    const std::string stat = read_system_text("/proc/" + std::to_string(process) + "/stat");
    if (stat.empty() || stat.find(") Z") != std::string::npos) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// A worker ends with its client even if it is in an endless loop.
TEST(Worker, EndsWithItsClient) {
  int ends_of_pipe[2];
  ASSERT_EQ(pipe(ends_of_pipe), 0);
  const pid_t client = fork();
  if (client == 0) {
    setenv("AOE_INJECT_FAULT", "1:endless_loop", 1);
    WorkerOptions patient = options();
    patient.run_seconds = 600;
    Worker worker(product(), patient);
    const auto id = static_cast<pid_t>(worker.process_id());
    if (write(ends_of_pipe[1], &id, sizeof id) != sizeof id) _exit(1);
    worker.compile({0, worker.workloads()[0].policy});
    _exit(0);
  }
  close(ends_of_pipe[1]);
  pid_t worker = 0;
  const ssize_t got = read(ends_of_pipe[0], &worker, sizeof worker);
  close(ends_of_pipe[0]);
  kill(client, SIGKILL);
  waitpid(client, nullptr, 0);
  ASSERT_EQ(got, static_cast<ssize_t>(sizeof worker));
  EXPECT_TRUE(ends(worker)) << "process " << worker << " is still there";
}

}  // namespace
}  // namespace aoe
