#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/measure.h"
#include "measure/worker/worker_client.h"

namespace aoe {

// Passes over the model to be timed.
struct PassesRequest {
  bool fresh = false;  // on a process that has run nothing yet
  std::vector<Candidate> candidates = {};
  // By what each pass runs: the baseline, or candidates by their ids here.
  std::vector<Assignment> passes = {};
  // Beyond which a candidate of each workload is abandoned; empty: none is.
  std::vector<double> limits_ns = {};
};

// In a request candidates are numbered in the order in which it lists them, behind the baseline.
inline CandidateId id_of(size_t index) { return static_cast<CandidateId>(index + 1); }
inline size_t index_of(CandidateId id) { return static_cast<size_t>(id) - 1; }

// What is to be done at once: compiling goes on while passes are timed, if there are cores for
// both.
struct Request {
  std::vector<Candidate> compile = {};
  PassesRequest measure = {};
  // Texts of workloads that need not be the model's, to be timed outside of it by the policies that
  // loading would give them.
  std::vector<std::string> alone = {};
};

struct Answer {
  std::vector<std::optional<Failure>> compiled;  // of each, what is wrong with it
  // Candidates numbered as in the passes wanted. No passes at all if the process was lost.
  PassesResult measured;
  // Of each, the shortest call of each round; none of one that cannot be timed.
  std::vector<std::vector<double>> alone_ns;
  double elapsed_s = 0;  // since the machine was first asked
};

// A model's workloads, and what a job has to know of the machine before it begins.
struct Opened {
  std::vector<OpenWorkload> workloads;
  std::vector<double> least_ns;  // that the uses of each can take together
  Rates rates;                   // of the threads that the model runs on
  double margin = 0.01;          // of a proof on this host
  double noise_floor = 1;        // A/A: of a program against itself
  double elapsed_s = 0;
};

// What a job asks of the world. Behind it are worker processes, or a journal of what they said.
class Machine {
 public:
  virtual ~Machine() = default;
  virtual Opened open() = 0;
  virtual Answer ask(const Request& request) = 0;
  // Is told what was decided.
  virtual void record_decision(const std::string& question, const std::string& decision) = 0;
};

}  // namespace aoe
