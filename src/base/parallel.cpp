#include "base/parallel.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <limits>
#include <mutex>
#include <system_error>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace aoe {
namespace {

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

// How long a thread busy-waits before it sleeps: longer than the gap between two kernels of a
// model, too short for the wasted cycles to matter.
constexpr std::chrono::microseconds kAwake{200};

// Waits until `word` differs from `old` and returns it: busy for up to kAwake, but not once `awake`
// is false, then asleep.
uint32_t changed(const std::atomic<uint32_t>& word, uint32_t old, const std::atomic<bool>& awake) {
  using Clock = std::chrono::steady_clock;
  constexpr int kLooks = 32;  // loads of `word` per query of the clock
  const auto end = Clock::now() + kAwake;
  while (awake.load(std::memory_order_relaxed) && Clock::now() < end) {
    for (int i = 0; i < kLooks; ++i) {
      const uint32_t now = word.load(std::memory_order_acquire);
      if (now != old) return now;
      pause();
    }
  }
  word.wait(old, std::memory_order_acquire);
  return word.load(std::memory_order_acquire);
}

thread_local HelpersAwake* thread_helpers = nullptr;

}  // namespace

// One call of parallel_for: parts of `grain` indexes, divided into a share per worker (above
// kMostShares, workers have shares in common). A worker gets the same share of the same range in
// every call, so that it finds its data in the cache of its core. A worker that has finished its
// share steals from the others.
struct HelpersAwake::Job {
  Job(int64_t count, int64_t grain, int64_t parts, int workers,
      FunctionRef<void(int64_t, int64_t, int)> body)
      : count(count), grain(grain), share_count(std::min(workers, kMostShares)), body(body) {
    for (int i = 0; i < share_count; ++i) {
      set(i, parts * i / share_count, parts * (i + 1) / share_count);
    }
  }

  void work(int worker) {
    try {
      for (Parts parts; take(worker, parts);) {
        body(parts.first * grain, std::min(count, parts.last * grain), worker);
      }
    } catch (...) {
      const std::lock_guard lock(error_mutex);
      if (!error) error = std::current_exception();
      for (int i = 0; i < share_count; ++i) set(i, 0, 0);
    }
  }

  // A share packs the numbers of its first and last part into 64 bits.
  static constexpr int64_t kMostParts = std::numeric_limits<int32_t>::max();
  static constexpr int kMostShares = 16;

  std::exception_ptr error;

 private:
  struct Parts {
    int64_t first, last;
  };
  struct alignas(64) Share {
    std::atomic<uint64_t> parts;
  };

  static uint64_t packed(int64_t first, int64_t last) {
    return static_cast<uint64_t>(first) << 32 | static_cast<uint64_t>(last);
  }
  void set(int share, int64_t first, int64_t last) {
    shares[static_cast<size_t>(share)].parts.store(packed(first, last), std::memory_order_relaxed);
  }

  // Takes half of the parts that a share has left: large ranges first, so that calls are few, small
  // ones at the end, so that all workers finish together. From the share of another worker it takes
  // the back half, which that worker would reach last.
  bool take(int worker, Parts& taken) {
    for (int i = 0; i < share_count; ++i) {
      std::atomic<uint64_t>& share = shares[static_cast<size_t>((worker + i) % share_count)].parts;
      uint64_t seen = share.load(std::memory_order_relaxed);
      for (;;) {
        const auto first = static_cast<int64_t>(seen >> 32);
        const auto last = static_cast<int64_t>(seen & 0xffffffff);
        if (first >= last) break;
        const int64_t half = (last - first + 1) / 2;
        const uint64_t rest = i == 0 ? packed(first + half, last) : packed(first, last - half);
        if (!share.compare_exchange_weak(seen, rest, std::memory_order_relaxed)) continue;
        taken = i == 0 ? Parts{first, first + half} : Parts{last - half, last};
        return true;
      }
    }
    return false;
  }

  int64_t count;
  int64_t grain;
  int share_count;
  FunctionRef<void(int64_t, int64_t, int)> body;
  std::mutex error_mutex;
  std::array<Share, kMostShares> shares;
};

// A thread that runs one job after the other until the process ends.
class HelpersAwake::Helper {
 public:
  Helper* next = nullptr;  // in a list of them

  void set_awake(bool awake) { awake_.store(awake, std::memory_order_relaxed); }

  // finish() must return before the next give().
  void give(Job& job, int worker) {
    worker_ = worker;
    job_.store(&job, std::memory_order_release);
    given_.fetch_add(1, std::memory_order_release);
    given_.notify_one();
  }
  // Returns when the helper has finished the job. Withdraws it from a helper that has not begun: a
  // helper that wakes up too late is not waited for.
  void finish() {
    if (job_.exchange(nullptr, std::memory_order_acq_rel) != nullptr) return;
    const uint32_t wanted = given_.load(std::memory_order_relaxed);
    uint32_t done = done_.load(std::memory_order_acquire);
    while (done != wanted) done = changed(done_, done, awake_);
  }

  void run() {
    for (uint32_t seen = 0;;) {
      seen = changed(given_, seen, awake_);
      Job* const job = job_.exchange(nullptr, std::memory_order_acq_rel);
      if (job != nullptr) job->work(worker_);
      done_.store(seen, std::memory_order_release);
      done_.notify_one();
    }
  }

 private:
  std::atomic<uint32_t> given_{0};   // number of jobs given
  std::atomic<uint32_t> done_{0};    // value of given_ up to which jobs are finished or withdrawn
  std::atomic<bool> awake_{true};    // busy-waits for the next job
  std::atomic<Job*> job_ = nullptr;  // null once it is begun or withdrawn
  int worker_ = 0;
};

// Idle helpers. Never destroyed: the threads run until the process ends.
class HelpersAwake::Pool {
 public:
  static Pool& instance() {
    static std::once_flag once;
    std::call_once(once, [] {
      current() = new Pool;
      // A forked child has none of its parent's threads.
      pthread_atfork(nullptr, nullptr, [] { current() = new Pool; });
    });
    return *current();
  }

  // Returns a list of `count` helpers; fewer if the system starts no more threads.
  Helper* take(int count) {
    Helper* taken = nullptr;
    const std::lock_guard lock(mutex_);
    for (; count > 0; --count) {
      Helper* const helper = idle_ != nullptr ? idle_ : started();
      if (helper == nullptr) break;
      if (helper == idle_) idle_ = helper->next;
      helper->next = taken;
      taken = helper;
    }
    return taken;
  }

  void give_back(Helper* helpers) {
    const std::lock_guard lock(mutex_);
    while (helpers != nullptr) {
      Helper* const next = helpers->next;
      helpers->next = idle_;
      idle_ = helpers;
      helpers = next;
    }
  }

 private:
  static Pool*& current() {
    static Pool* pool = nullptr;
    return pool;
  }

  static Helper* started() {
    try {
      auto helper = std::make_unique<Helper>();
      std::thread([raw = helper.get()] { raw->run(); }).detach();
      return helper.release();
    } catch (const std::system_error&) {
      return nullptr;
    }
  }

  std::mutex mutex_;
  Helper* idle_ = nullptr;  // a list
};

HelpersAwake::HelpersAwake(int threads)
    : before_(thread_helpers),
      helpers_(threads > 1 ? Pool::instance().take(threads - 1) : nullptr) {
  for (Helper* helper = helpers_; helper != nullptr; helper = helper->next) helper->set_awake(true);
  thread_helpers = helpers_ != nullptr ? this : nullptr;
}

HelpersAwake::~HelpersAwake() {
  thread_helpers = before_;
  if (helpers_ == nullptr) return;
  for (Helper* helper = helpers_; helper != nullptr; helper = helper->next) {
    helper->set_awake(false);
  }
  Pool::instance().give_back(helpers_);
}

void HelpersAwake::run(Job& job, int helpers) {
  busy_ = true;
  int worker = 0;
  for (Helper* helper = helpers_; helper != nullptr && worker < helpers; helper = helper->next) {
    helper->give(job, ++worker);
  }
  job.work(0);
  for (Helper* helper = helpers_; worker > 0; helper = helper->next, --worker) helper->finish();
  busy_ = false;
}

void parallel_for(int64_t count, int64_t grain, int threads,
                  FunctionRef<void(int64_t, int64_t, int)> body) {
  using Job = HelpersAwake::Job;
  grain = std::max(grain, count / Job::kMostParts + 1);
  const int64_t parts = (count + grain - 1) / grain;
  const int workers = static_cast<int>(std::min<int64_t>(threads, parts));
  if (workers <= 1) {
    if (count > 0) body(0, count, 0);
    return;
  }
  Job job(count, grain, parts, workers, body);
  if (thread_helpers != nullptr && !thread_helpers->busy_) thread_helpers->run(job, workers - 1);
  else HelpersAwake(workers).run(job, workers - 1);
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace aoe
