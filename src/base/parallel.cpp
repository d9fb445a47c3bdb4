#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace aoe {

void parallel_for(int64_t count, int64_t grain, int threads,
                  const std::function<void(int64_t, int64_t)>& body) {
  const int64_t parts = (count + grain - 1) / grain;
  const int workers = static_cast<int>(std::min<int64_t>(threads, parts));
  if (workers <= 1) {
    if (count > 0) body(0, count);
    return;
  }
  std::atomic<int64_t> next{0};
  std::exception_ptr error;
  std::mutex error_mutex;
  const auto work = [&] {
    try {
      for (int64_t part; (part = next.fetch_add(1)) < parts;) {
        body(part * grain, std::min(count, (part + 1) * grain));
      }
    } catch (...) {
      const std::lock_guard lock(error_mutex);
      if (!error) error = std::current_exception();
      next.store(parts);
    }
  };
  {
    std::vector<std::jthread> helpers;
    try {
      for (int i = 1; i < workers; ++i) helpers.emplace_back(work);
    } catch (const std::system_error&) {
      // No more threads to be had: those there are do all of it.
    }
    work();
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace aoe
