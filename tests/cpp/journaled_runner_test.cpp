#include "tune/runner/journaled_runner.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/cpp/error_message.h"
#include "tests/cpp/temporary_folder.h"
#include "tune/job/job.h"

namespace aoe {
namespace {

// Answers of the right form to any request; the model has one workload.
class OneWorkload : public Runner {
 public:
  explicit OneWorkload(size_t bounds = 1) : bounds_(bounds) {}
  OpenedModel open() override {
    OpenedModel opened;
    opened.workloads.push_back({.text = "one", .policy = "", .uses = 1, .baseline_ns = 1e5});
    opened.least_ns.assign(bounds_, 1);
    return opened;
  }
  Answer ask(const Request& request) override {
    Answer answer;
    answer.compiled.resize(request.compile.size());
    answer.alone_ns.resize(request.alone.size());
    answer.measured.passes.resize(request.measure.passes.size(), Pass{5, {5}});
    return answer;
  }
  void record_decision(const std::string& /*question*/, const std::string& /*decision*/) override {}

 private:
  size_t bounds_;
};

// A request with one of everything that is answered.
const Request kRequest{
    .compile = {{0, "a policy"}},
    .measure = {.candidates = {{0, "a policy"}}, .passes = {Assignment{.workloads = {id_of(0)}}}},
    .alone = {"a workload"}};

void run(const std::filesystem::path& file, Journal::Start start) {
  Journal journal(file, start);
  JournaledRunner runner(journal, [] { return std::make_unique<OneWorkload>(); });
  runner.open();
  runner.ask(kRequest);
}

// Jobs index answers by the requests' numbers, so that an answer of another size must not pass.
TEST(JournaledRunner, AnswersThatDoNotFitTheirRequestsAreErrors) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "journal.db";
  run(file, Journal::Start::fresh);
  const std::vector<JournalEntry> entries = read_journal(file);
  ASSERT_EQ(entries.size(), 2);
  struct Row {
    size_t entry;
    std::string part;
    std::string instead;
    std::string said;
  };
  const Row rows[] = {
      {0, "", "", "no error"},
      {0, "\"least_ns\"", "\"most_ns\"", "not what this job writes"},
      {0, "\"uses\":1", "\"uses\":[]", "not what this job writes"},
      {0, "{", "[", "not what this job writes"},
      {1, "\"compiled\":[null]", "\"compiled\":[]", "does not fit its request"},
      {1, "\"compiled\":[null]", "\"compiled\":[[]]", "not what this job writes"},
      {1, "\"alone_ns\":[[]]", "\"alone_ns\":[]", "does not fit its request"},
      {1, "\"workload_ns\":[5.0]", "\"workload_ns\":[]", "does not fit its request"},
      {1, "\"workload_ns\":[5.0]", "\"workload_ns\":[-5.0]", "a time of -5 ns"},
      {1, "\"passes\":[", "\"passes\":[{\"total_ns\":1,\"workload_ns\":[1]},", "does not fit"},
      {1, "\"passes\":[", "\"passes\":7,\"other\":[", "not what this job writes"},
  };
  for (const Row& row : rows) {
    std::filesystem::remove(file);
    {
      Journal journal(file, Journal::Start::fresh);
      for (size_t i = 0; i < entries.size(); ++i) {
        std::string answer = entries[i].answer;
        if (i == row.entry) {
          const size_t at = answer.find(row.part);
          ASSERT_NE(at, std::string::npos) << row.part << " in " << answer;
          answer.replace(at, row.part.size(), row.instead);
        }
        journal.ask(entries[i].request, [&] { return answer; });
      }
    }
    const std::string message = message_of([&] { run(file, Journal::Start::reload); });
    EXPECT_NE(message.find(row.said), std::string::npos) << row.instead << ": " << message;
  }
}

TEST(JournaledRunner, AJobNeedsABoundAndALookupForEachWorkload) {
  const std::vector<TransferSeed> none;
  struct Row {
    size_t bounds;
    size_t lookups;
    std::string said;
  };
  for (const Row& row : {Row{1, 1, "no error"}, Row{0, 1, "0 bounds"}, Row{1, 0, "0 lookups"}}) {
    OneWorkload runner(row.bounds);
    Job job(runner, Device{}, {}, [](const JobProgress&) {});
    job.open();
    // Not to be tuned, so that nothing else is asked for.
    const std::vector<bool> chosen(row.lookups, false);
    const std::string message = message_of([&] { job.choose(chosen, none); });
    EXPECT_NE(message.find(row.said), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace aoe
