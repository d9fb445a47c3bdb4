#pragma once

#include <cstdint>

#include "base/function_ref.h"

namespace aoe {

// Calls `body(first, last, worker)` on disjoint ranges that cover [0, count), on up to `threads`
// threads including the calling one. Each range but the last has at least `grain` indexes. Workers
// are numbered from 0; a worker makes one call at a time. The first exception of any call is
// rethrown here. The result must not depend on how the range is divided.
void parallel_for(int64_t count, int64_t grain, int threads,
                  FunctionRef<void(int64_t, int64_t, int)> body);

// Reserves up to `threads` - 1 helper threads for the calling thread while it exists. They
// busy-wait for its next parallel_for, which then starts within a microsecond; without it, each
// parallel_for has to wake them. Allocates nothing once the threads exist.
class HelpersAwake {
 public:
  explicit HelpersAwake(int threads);
  ~HelpersAwake();
  HelpersAwake(const HelpersAwake&) = delete;
  HelpersAwake& operator=(const HelpersAwake&) = delete;

 private:
  friend void parallel_for(int64_t, int64_t, int, FunctionRef<void(int64_t, int64_t, int)>);
  struct Job;
  class Helper;
  class Pool;

  // Runs the job on the calling thread and up to `helpers` helpers.
  void run(Job& job, int helpers);

  HelpersAwake* before_;  // the enclosing one of the calling thread, or null
  Helper* helpers_;       // a list
  bool busy_ = false;     // runs a job; a nested parallel_for takes other helpers
};

}  // namespace aoe
