#include "tune/job/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "policy/policy_text.h"

namespace aoe {
namespace {

// Number of candidates that are compiled while the previous batch is timed: enough to keep several
// processes busy, few enough that searchers learn from earlier results.
constexpr size_t kBatch = 16;
// Maximum number of candidates of one workload per batch: each needs separate passes.
constexpr size_t kMostOfOne = 4;

constexpr double kNever = std::numeric_limits<double>::infinity();

std::string share_text(double share) {
  return std::isfinite(share) ? fmt::format("{:.3f} of the baseline's time", share)
                              : "failed or hopelessly slow when it was timed";
}

}  // namespace

std::vector<const Expectation*> Sampling::expectations() const {
  std::vector<const Expectation*> all;
  for (const TunedWorkload& one : tuned_) all.push_back(&one.expectation);
  return all;
}

bool Sampling::is_exhausted() const {
  return std::all_of(tuned_.begin(), tuned_.end(),
                     [](const TunedWorkload& one) { return one.expectation.is_closed(); });
}

double Sampling::expected_gain() const {
  return allocate_samples(expectations(), proposed_, proposed_).saving;
}

std::vector<Sampling::Sample> Sampling::propose() {
  const std::vector<size_t> counts = allocate_samples(expectations(), kBatch, kMostOfOne).samples;
  std::vector<Sample> samples;
  for (size_t i = 0; i < tuned_.size(); ++i) {
    if (counts[i] == 0) continue;
    std::vector<Policy> policies = tuned_[i].searcher->propose(counts[i]);
    if (policies.size() < counts[i]) tuned_[i].expectation.close();
    tuned_[i].expectation.ask(policies.size());
    for (Policy& policy : policies) {
      std::string text = to_string(policy, *tuned_[i].parsed);
      samples.push_back({i, std::move(policy), std::move(text)});
    }
  }
  proposed_ += samples.size();
  return samples;
}

bool Sampling::step(bool more) {
  const std::vector<Sample> next = more ? propose() : std::vector<Sample>{};
  if (next.empty() && ready_.empty()) return false;
  const Screening screening(to_candidates(ready_), job_.opened(), runs_, job_.random);
  const Answer done = job_.ask({to_candidates(next), screening.wanted()});
  ready_ = learn_times(ready_, screening, done.measured);
  for (size_t i = 0; i < next.size(); ++i) {
    if (done.compiled[i]) learn_failure(next[i], *done.compiled[i]);
    else ready_.push_back(next[i]);
  }
  return true;
}

void Sampling::run(const std::function<bool()>& goes_on, const std::function<void()>& on_progress) {
  while (step(goes_on())) on_progress();
}

std::vector<Candidate> Sampling::to_candidates(const std::vector<Sample>& samples) const {
  std::vector<Candidate> candidates;
  for (const Sample& one : samples) candidates.push_back({tuned_[one.tuned].workload, one.text});
  return candidates;
}

void Sampling::learn(const Sample& sample, double share) {
  tuned_[sample.tuned].searcher->learn(sample.policy, share);
  tuned_[sample.tuned].expectation.learn(share);
}

void Sampling::learn_failure(const Sample& sample, const Failure& failure) {
  log_line(LogLevel::debug, fmt::format("candidate for workload {}: not compiled: {}, {}; {}",
                                        tuned_[sample.tuned].workload, name(failure.cause),
                                        failure.detail, sample.text));
  learn(sample, kNever);
}

std::vector<Sampling::Sample> Sampling::learn_times(const std::vector<Sample>& samples,
                                                    const Screening& screening,
                                                    const PassesResult& measured) {
  std::vector<Sample> again;
  const std::vector<ScreenResult> results = screening.results(measured);
  for (size_t i = 0; i < samples.size(); ++i) {
    const Screened screened = results[i].screened;
    // A loss that another candidate is to blame for does not count: its culprit is gone.
    const bool innocent = screened == Screened::not_timed && has_culprit(measured);
    const bool invalid = screened == Screened::not_timed || screened == Screened::impossible;
    if (innocent || (invalid && !samples[i].again)) {
      again.push_back(samples[i]);
      if (!innocent) again.back().again = true;
      continue;
    }
    ++timed_;
    const double share = results[i].relative_time;
    log_line(LogLevel::debug,
             fmt::format("candidate for workload {}: compiled, {}; {}",
                         tuned_[samples[i].tuned].workload, share_text(share), samples[i].text));
    learn(samples[i], share);
  }
  return again;
}

}  // namespace aoe
