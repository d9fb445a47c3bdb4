#pragma once

#include <functional>
#include <vector>

#include "bank/transfer_seeds.h"
#include "device/device.h"
#include "tune/job/confirmation.h"
#include "tune/job/job_state.h"
#include "tune/job/sampling.h"
#include "tune/job/timetable.h"

namespace aoe {

// Workloads with a smaller share of the model's time are not tuned: they cannot change it by an
// amount that can be proven.
inline constexpr double kLeastShare = 0.002;

// A Job tunes the operators of a model: rounds of search, race and confirmation, then the whole
// model (docs/tuning.md). The caller opens it, chooses workloads, takes proven policies until there
// are no more, and finishes it:
//
//   Job job(runner, device, options);
//   job.choose(chosen(job.open().workloads), seeds);
//   for (auto proven = job.next_proven(); !proven.empty(); proven = job.next_proven()) {
//     report(proven);
//   }
//   store(job.finish());
//
// A job is a function of its arguments and of the runner's answers, so a job that was killed is
// resumed by the same calls on a runner that answers from its journal.
class Job {
 public:
  // `display` is called with the progress after each step.
  Job(
      Runner& runner, const Device& device, const JobOptions& options,
      std::function<void(const JobProgress&)> display = [](const JobProgress&) {});
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  const OpenedModel& open();

  // Selects the workloads to tune, one flag each, except those that take a negligible share of the
  // model's time. `seeds` are policies of any workloads; those of the same operators become
  // transfer seeds.
  void choose(const std::vector<bool>& chosen, const std::vector<TransferSeed>& seeds);

  // Continues until policies are proven and returns them; empty when the last round is over. A
  // policy proven later replaces an earlier one of its workload.
  std::vector<Accepted> next_proven();

  // Explains the proven policies, compares the whole model and drops those that do not carry over.
  JobResult finish();

 private:
  void begin();
  void begin_with(size_t count);
  void search();
  void finish_round();
  bool search_goes_on() const;
  bool has_budget() const;
  size_t all_samples() const { return options_.samples * (tuned_.size() + waiting_.size()); }
  double searched_by_count() const;
  std::vector<Accepted> accepted() const;
  void explain(std::vector<Accepted>& proven);
  void report_progress(JobProgress::Phase phase, double share);

  const JobOptions options_;
  JobContext job_;
  const Device& device_;
  const std::function<void(const JobProgress&)> display_;
  const std::shared_ptr<Ranker> ranker_ = std::make_shared<Ranker>();  // shared by all workloads
  // Workloads not started and started, each by share of the model's time, largest first.
  std::vector<TunedWorkload> waiting_, tuned_;
  Timetable timetable_;
  Sampling sampling_;
  Confirmation confirmation_;
  int rounds_ = 0;
  bool checking_ = false;  // the round is racing and confirming
  bool last_ = false;      // the current round is the last
  double shown_share_ = 0;
  JobResult result_;
};

}  // namespace aoe
