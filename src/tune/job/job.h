#pragma once

#include <functional>
#include <vector>

#include "device/device.h"
#include "tune/job/checks.h"
#include "tune/job/job_state.h"
#include "tune/job/sampling.h"
#include "tune/job/timetable.h"
#include "tune/job/transfer_seeds.h"

namespace aoe {

// Tunes the operators of a model: rounds of search, race and confirmation, then the whole model
// (docs/tuning.md). Its caller opens it, chooses, asks for what is proven until nothing more is,
// and ends it:
//
//   Job job(machine, device, options);
//   job.choose(chosen(job.open().workloads), seeds);
//   for (auto proven = job.next_proven(); !proven.empty(); proven = job.next_proven()) {
//     report(proven);
//   }
//   store(job.finish());
//
// What it does is a function of these arguments and of what the machine answers, so a job that was
// killed is resumed by the same calls on a machine that answers from its journal.
class Job {
 public:
  // `display` is for a progress bar.
  Job(
      Machine& machine, const Device& device, const JobOptions& options,
      std::function<void(const JobProgress&)> display = [](const JobProgress&) {});
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  const Opened& open();

  // Which of the workloads are to be tuned, and policies of workloads of any shapes, to begin with.
  void choose(const std::vector<bool>& chosen, const std::vector<TransferSeed>& seeds);

  // Goes on until policies are proven, and returns those at once; nothing when the last round is
  // over. A policy that is proven later replaces an earlier one of its workload.
  std::vector<Accepted> next_proven();

  // Why they are faster, and what of them carries over to the whole model.
  JobResult finish();

 private:
  void begin();
  void begin_with(size_t count);
  void search();
  void end_checks();
  bool search_goes_on() const;
  bool has_budget() const;
  size_t all_samples() const { return options_.samples * (tuned_.size() + waiting_.size()); }
  double searched_by_count() const;
  std::vector<Accepted> accepted() const;
  void explain(std::vector<Accepted>& proven);
  void tell(JobProgress::Phase phase, double share);

  const JobOptions options_;
  JobContext job_;
  const Device& device_;
  const std::function<void(const JobProgress&)> display_;
  const std::shared_ptr<Ranker> ranker_ = std::make_shared<Ranker>();  // of all workloads
  // Those that take most of the model's time first: to be begun with, and begun.
  std::vector<TunedWorkload> waiting_, tuned_;
  Timetable timetable_;
  Sampling sampling_;
  Checks checks_;
  int rounds_ = 0;
  bool checking_ = false;  // the round is racing and confirming
  double checks_began_s_ = 0;
  bool last_ = false;  // of the rounds
  double told_share_ = 0;
  JobResult result_;
};

}  // namespace aoe
