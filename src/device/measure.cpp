#include "device/measure.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/median.h"
#include "base/parallel.h"
#include "device/cores.h"
#include "device/measure_loops.h"

namespace aoe {
namespace {

constexpr int kRepeats = 12;
// About a millisecond: long compared with a barrier, short enough that a shared machine does not
// interrupt every run.
constexpr double kFlopsPerLoop = 100e6;

// Copies touch this many times the size of the last-level cache, because a process may have more of
// it than is announced, for instance behind a hypervisor.
constexpr int kBeyond = 16;
// Assumed minimum of the last-level cache: a small one or none may be announced wrongly.
constexpr int64_t kLeastCache = 32 << 20;
constexpr int64_t kMostBytes = 1 << 30;
constexpr size_t kAlignment = 64;

double seconds() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

// Ignores errors: the rate of an unpinned thread is still useful.
void pin_this_thread(int cpu) {
  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(
      CPU_ALLOC(cpu + 1), [](cpu_set_t* allocated) { CPU_FREE(allocated); });
  const size_t bytes = CPU_ALLOC_SIZE(cpu + 1);
  CPU_ZERO_S(bytes, set.get());
  CPU_SET_S(cpu, bytes, set.get());
  pthread_setaffinity_np(pthread_self(), bytes, set.get());
}

// Work per second of `body` on all `cpus` at once; each call does `work` units. A run lasts from
// the start of the first thread to the end of the last; the best of kRepeats runs counts. All
// threads are new ones, because the affinity of the calling thread must not change.
double best_rate(const std::vector<int>& cpus, double work, const std::function<void(int)>& body) {
  const int threads = static_cast<int>(cpus.size());
  std::barrier sync(threads);
  std::vector<double> begin(threads);
  std::vector<double> end(threads);
  double best = 0;
  const auto run = [&](int thread) {
    pin_this_thread(cpus[thread]);
    body(thread);  // Warm-up: the clock rises, and memory is touched first.
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
      sync.arrive_and_wait();
      begin[thread] = seconds();
      body(thread);
      end[thread] = seconds();
      sync.arrive_and_wait();
      if (thread != 0) continue;
      const double time =
          *std::max_element(end.begin(), end.end()) - *std::min_element(begin.begin(), begin.end());
      best = std::max(best, threads * work / time);
    }
  };
  int started = 0;
  {
    std::vector<std::jthread> running;
    try {
      for (; started < threads; ++started) running.emplace_back(run, started);
    } catch (const std::system_error&) {
      for (int missing = started; missing < threads; ++missing) sync.arrive_and_drop();
    }
  }
  require(started == threads, "only {} of {} threads could be started", started, threads);
  return best;
}

double fma_rate(const Device& device, const std::vector<int>& cpus) {
  double best = 0;
  for (const FmaLoop& loop : fma_loops(device)) {
    const int64_t steps = static_cast<int64_t>(kFlopsPerLoop / loop.flops_per_step);
    best = std::max(best, best_rate(cpus, loop.flops_per_step * static_cast<double>(steps),
                                    [&](int) { loop.run(steps); }));
  }
  return best;
}

struct Free {
  void operator()(float* memory) const { std::free(memory); }
};
using Buffer = std::unique_ptr<float[], Free>;

Buffer allocate(size_t count) {
  Buffer buffer(static_cast<float*>(std::aligned_alloc(kAlignment, count * sizeof(float))));
  require(buffer != nullptr, "there is no memory for copies of {} bytes", count * sizeof(float));
  return buffer;
}

double copy_rate(const Device& device, const std::vector<int>& cpus) {
  const size_t threads = cpus.size();
  const size_t bytes = bytes_beyond_caches(device, static_cast<int>(threads)) / (2 * threads);
  const size_t count = bytes / kAlignment * kAlignment / sizeof(float);
  std::vector<Buffer> from(threads);
  std::vector<Buffer> to(threads);
  for (size_t thread = 0; thread < threads; ++thread) {
    from[thread] = allocate(count);
    to[thread] = allocate(count);
  }
  std::vector<char> touched(threads, false);
  const auto touch = [&](int thread) {
    // In the thread that copies: a page belongs to the NUMA node of the core that touches it first.
    if (touched[thread]) return;
    for (const auto* side : {&from, &to}) std::fill_n((*side)[thread].get(), count, 1.0f);
    touched[thread] = true;
  };
  const double moved = 2.0 * static_cast<double>(count * sizeof(float));
  const double plain = best_rate(cpus, moved, [&](int thread) {
    touch(thread);
    std::copy_n(from[thread].get(), count, to[thread].get());
  });
  const double streaming = best_rate(cpus, moved, [&](int thread) {
    streaming_copy(device, to[thread].get(), from[thread].get(), count);
  });
  return std::max(plain, streaming);
}

}  // namespace

int64_t bytes_beyond_caches(const Device& device, int threads) {
  const Cache& last = device.last_cache();
  // Number of last-level caches that so many threads use together.
  const int64_t caches = last.shared_by > 0 ? (threads + last.shared_by - 1) / last.shared_by : 1;
  return std::min(kBeyond * std::max(caches * last.bytes, kLeastCache), kMostBytes);
}

Rates measure_rates(const Device& device, int threads) {
  std::vector<int> cpus = spread_over_cores(allowed_cpus());
  require(threads >= 1 && static_cast<size_t>(threads) <= cpus.size(),
          "{} threads cannot be measured: this process may run on {} processors", threads,
          cpus.size());
  cpus.resize(threads);
  return {fma_rate(device, cpus) / 1e9, copy_rate(device, cpus) / 1e9};
}

double measure_fork_join_us(int threads) {
  if (threads <= 1) return 0;
  constexpr int kTimes = 10000;
  const HelpersAwake helpers(threads);
  std::vector<double> taken(kTimes);
  for (double& time : taken) {
    const double begin = seconds();
    parallel_for(threads, 1, threads, [](int64_t, int64_t, int) {});
    time = seconds() - begin;
  }
  return median(std::move(taken)) * 1e6;
}

}  // namespace aoe
