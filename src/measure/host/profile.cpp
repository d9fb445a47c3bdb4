#include "measure/host/profile.h"

#include <fmt/format.h>

#include <utility>

#include "measure/statistics/intervals.h"

namespace aoe {
namespace {

std::string name_of(const Node& node) {
  return node.name.empty() ? std::string(node.def->name)
                           : fmt::format("{} ({})", node.name, node.def->name);
}

// Times every step of every run.
class StepTimes : public StepObserver {
 public:
  explicit StepTimes(const Clock& clock) : clock_(clock) {}

  void step_begins() override { begin_ns_ = clock_(); }

  void step_ended(const StepInfo& step) override {
    const double ns = clock_() - begin_ns_;
    if (step.index >= steps_.size()) steps_.resize(step.index + 1);
    auto& [row, times] = steps_[step.index];
    if (times.empty()) row = described(step);
    times.push_back(ns);
    spent_ns_ += ns;
  }

  // Time spent in steps since the last call.
  double take_spent_ns() { return std::exchange(spent_ns_, 0); }

  std::vector<Profile::Step> rows() {
    std::vector<Profile::Step> rows;
    for (auto& [row, times] : steps_) {
      row.median_ns = median_of(times).median;
      rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  static Profile::Step described(const StepInfo& step) {
    Profile::Step row;
    for (const Node* node : step.nodes) row.nodes.push_back(name_of(*node));
    row.kind = step.compiled ? "kernel" : step.workload != nullptr ? "reference" : "host";
    if (step.compiled) row.algorithm = name(step.numerics);
    row.changes_layout = step.changes_layout;
    if (step.workload != nullptr) {
      row.operations = operations_of(*step.workload);
      row.bytes = bytes_of(*step.workload);
    }
    return row;
  }

  const Clock& clock_;
  double begin_ns_ = 0;
  double spent_ns_ = 0;
  std::vector<std::pair<Profile::Step, std::vector<double>>> steps_;
};

}  // namespace

Profile profile_of(const WatchedRun& run, double seconds, const Clock& clock) {
  run(nullptr);  // warm-up: fills the caches with this model's data
  StepTimes times(clock);
  std::vector<double> totals;
  std::vector<double> rests;
  const double start = clock();
  while (totals.size() < kFewestValues || clock() - start < seconds * 1e9) {
    const double begin = clock();
    run(&times);
    totals.push_back(clock() - begin);
    rests.push_back(totals.back() - times.take_spent_ns());
  }
  Profile profile;
  profile.runs = static_cast<int64_t>(totals.size());
  profile.total_ns = median_of(std::move(totals)).median;
  profile.between_ns = median_of(std::move(rests)).median;
  profile.steps = times.rows();
  return profile;
}

double operations_in(const WatchedRun& run) {
  class Counter : public StepObserver {
   public:
    void step_begins() override {}
    void step_ended(const StepInfo& step) override {
      if (step.workload != nullptr) total += operations_of(*step.workload);
    }
    double total = 0;
  };
  Counter counter;
  run(&counter);
  return counter.total;
}

}  // namespace aoe
