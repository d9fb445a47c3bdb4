#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/measure.h"
#include "measure/worker.h"

namespace aoe {

// A policy for one of the model's workloads, by number.
struct Proposal {
  int workload = 0;
  std::string policy;
};

// Passes over the model to be timed.
struct PassesWanted {
  bool fresh = false;  // on a process that has run nothing yet
  std::vector<Proposal> candidates;
  // For each pass, by what each workload runs: 0, as the model was opened, or 1 + which candidate.
  std::vector<Assignment> passes;
  // Beyond which a candidate of each workload is abandoned; empty: none is.
  std::vector<double> limits_ns;
};

// What is to be done at once: compiling goes on while passes are timed, if there are cores for
// both.
struct Work {
  std::vector<Proposal> compile;
  PassesWanted measure;
};

struct Done {
  std::vector<std::optional<Failure>> compiled;  // of each, what is wrong with it
  // Candidates numbered as in the passes wanted. No passes at all if the process was lost.
  PassesResult measured;
  double elapsed_s = 0;  // since the job began
};

// A model's workloads, and what a job has to know of the machine before it begins.
struct Opened {
  std::vector<OpenWorkload> workloads;
  std::vector<double> least_ns;  // that the uses of each can take together
  Rates rates;                   // of the threads that the model runs on
  double margin = 0.01;          // of a proof on this host
  double noise_floor = 1;        // the factor that the host feigns
  double elapsed_s = 0;
};

// What a job asks of the world. Behind it are worker processes, or a journal of what they said.
class Machine {
 public:
  virtual ~Machine() = default;
  virtual Opened open() = 0;
  virtual Done work(const Work& work) = 0;
  // Is told what was decided.
  virtual void decide(const std::string& question, const std::string& decision) = 0;
};

}  // namespace aoe
