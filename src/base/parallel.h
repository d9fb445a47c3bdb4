#pragma once

#include <cstdint>

#include "base/function_ref.h"

namespace aoe {

// Calls `body(first, last, worker)` on disjoint parts that cover [0, count), on up to `threads`
// threads, the calling one among them. Workers are numbered from 0 on, and one calls the body for
// one part at a time. The first exception of any part is thrown again here. How the range is cut
// must not matter to the result.
void parallel_for(int64_t count, int64_t grain, int threads,
                  FunctionRef<void(int64_t, int64_t, int)> body);

// While it exists, the calling thread has up to `threads` - 1 helpers for itself, who wait for its
// parallel_for awake: one then begins within a microsecond. Without it they are woken for each.
// Once the threads are there, nothing is allocated.
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

  // Works on the job together with up to so many helpers.
  void run(Job& job, int helpers);

  HelpersAwake* before_;  // the calling thread's, outside of this
  Helper* helpers_;       // a list
  bool busy_ = false;
};

}  // namespace aoe
