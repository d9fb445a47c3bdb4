#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace aoe {

// Calls `body(first, last)` on disjoint parts that cover [0, count), on up to `threads` threads,
// the calling one among them. The first exception of any part is thrown again here. How the range
// is cut must not matter to the result.
void parallel_for(int64_t count, int64_t grain, int threads,
                  const std::function<void(int64_t, int64_t)>& body);

// While it exists, the calling thread has up to `threads` - 1 helpers for itself, who wait for its
// parallel_for awake: one then begins within a microsecond. Without it they are woken for each.
class HelpersAwake {
 public:
  explicit HelpersAwake(int threads);
  ~HelpersAwake();
  HelpersAwake(const HelpersAwake&) = delete;
  HelpersAwake& operator=(const HelpersAwake&) = delete;

 private:
  class Crew* before_;  // the calling thread's, outside of this
  std::unique_ptr<class Crew> crew_;
};

}  // namespace aoe
