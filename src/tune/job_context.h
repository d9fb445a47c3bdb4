#pragma once

#include <string>

#include "policy/space.h"
#include "tune/job.h"
#include "tune/trials.h"

namespace aoe {

// What the parts of a job share: whom it asks, what was opened, and what time it is.
class JobContext {
 public:
  JobContext(Machine& machine, const JobOptions& options, const JobListener& listener)
      : options(options), listener(listener), random(options.seed), machine_(machine) {}

  const JobOptions& options;
  const JobListener& listener;
  Random random;

  const Opened& open() {
    opened_ = machine_.open();
    elapsed_s_ = opened_.elapsed_s;
    listener.opened(opened_);
    return opened_;
  }
  Done ask(const Work& work) {
    Done done = machine_.work(work);
    elapsed_s_ = done.elapsed_s;
    return done;
  }
  void decide(const std::string& question, const std::string& decision) {
    machine_.decide(question, decision);
  }

  const Opened& opened() const { return opened_; }
  const OpenWorkload& workload(int number) const {
    return opened_.workloads[static_cast<size_t>(number)];
  }
  double uses(int number) const { return static_cast<double>(workload(number).uses); }
  size_t workloads() const { return opened_.workloads.size(); }
  double elapsed_s() const { return elapsed_s_; }

  // What a proof has come to, with what is known of the host's noise.
  Gain gain_of(const Proofs& proofs, size_t group) const {
    Gain gain = proofs.gain(group);
    gain.noise_floor = opened_.noise_floor;
    return gain;
  }

 private:
  Machine& machine_;
  Opened opened_;
  double elapsed_s_ = 0;
};

}  // namespace aoe
