#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "device/measure.h"
#include "measure/worker/worker_client.h"

namespace aoe {

// Passes over the model to be timed.
struct PassesRequest {
  bool fresh = false;  // in a new process that has run nothing yet
  std::vector<Candidate> candidates = {};
  // For each pass: the baseline or a candidate of this request (id_of) for each workload.
  std::vector<Assignment> passes = {};
  // For each workload: the time beyond which a candidate is abandoned. Empty: no limits.
  std::vector<double> limits_ns = {};
};

// Candidates of a request are numbered from 1 in the order in which it lists them; 0 is the
// baseline.
inline CandidateId id_of(size_t index) { return static_cast<CandidateId>(index + 1); }
inline size_t index_of(CandidateId id) { return static_cast<size_t>(id) - 1; }

// Whether a candidate is to blame for its failure: it was not just running when its worker was
// killed from outside, for instance because the machine ran out of memory.
inline bool is_to_blame(const FailedCandidate& failed) {
  return failed.candidate != CandidateId::baseline && failed.failure.cause != Cause::killed;
}
// Whether the candidate with this index failed in the passes.
inline bool is_failed(const PassesResult& measured, size_t index) {
  return std::any_of(measured.failed.begin(), measured.failed.end(), [&](const auto& failed) {
    return failed.candidate == id_of(index) && is_to_blame(failed);
  });
}
// Whether any candidate failed. If the passes were lost, it is to blame.
inline bool has_culprit(const PassesResult& measured) {
  return std::any_of(measured.failed.begin(), measured.failed.end(), is_to_blame);
}
// After so many losses of a worker that no candidate is to blame for, a comparison is given up. A
// loss with a culprit removes the candidate instead: the others are asked for again without it.
inline constexpr size_t kMostLosses = 3;

// Work for a runner, which compiles while it times passes, if there are cores for both.
struct Request {
  std::vector<Candidate> compile = {};  // to be compiled and checked
  PassesRequest measure = {};
  // Texts of workloads, which need not belong to the model, to be timed outside of it with the
  // policies that loading would give them.
  std::vector<std::string> alone = {};
};

struct Answer {
  std::vector<std::optional<Failure>> compiled;  // for each candidate: its failure, if it failed
  // Candidates are numbered as in the request. No passes if the worker was lost.
  PassesResult measured;
  // For each workload: the minimum time of a call in each round; empty if it cannot be timed.
  std::vector<std::vector<double>> alone_ns;
  double elapsed_s = 0;  // since the runner was made; of a resumed job, with its earlier runs
};

// The workloads of a model, and the properties of the machine that a job needs.
struct OpenedModel {
  std::vector<OpenWorkload> workloads;
  std::vector<double> least_ns;  // for each workload: lower bound on the time of all its uses
  Rates rates;                   // of the threads that the model runs on
  double margin = 0.01;          // of a proof on this host
  double noise_floor = 1;        // A/A noise floor of this host
  double elapsed_s = 0;
};

// A Runner answers the requests of a job: by worker processes, or by replaying a journal.
class Runner {
 public:
  virtual ~Runner() = default;
  virtual OpenedModel open() = 0;
  virtual Answer ask(const Request& request) = 0;
  // Takes note of a decision; a journal records or verifies it.
  virtual void record_decision(const std::string& question, const std::string& decision) = 0;
};

}  // namespace aoe
