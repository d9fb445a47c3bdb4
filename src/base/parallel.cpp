#include "base/parallel.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
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

// Longer than what lies between two kernels of a model, shorter than anybody notices.
constexpr std::chrono::microseconds kAwake{200};

// Waits until `word` is no longer `old`: awake for a while, if at all, then asleep.
uint32_t changed(const std::atomic<uint32_t>& word, uint32_t old, const std::atomic<bool>& awake) {
  using Clock = std::chrono::steady_clock;
  constexpr int kLooks = 32;  // between two looks at the clock
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

thread_local HelpersAwake* own_helpers = nullptr;

}  // namespace

// One call of parallel_for.
struct HelpersAwake::Job {
  int64_t count;
  int64_t grain;
  int64_t parts;
  FunctionRef<void(int64_t, int64_t, int)> body;
  std::atomic<int64_t> next{0};
  std::exception_ptr error;
  std::mutex error_mutex;

  void work(int worker) {
    try {
      for (int64_t part; (part = next.fetch_add(1)) < parts;) {
        body(part * grain, std::min(count, (part + 1) * grain), worker);
      }
    } catch (...) {
      const std::lock_guard lock(error_mutex);
      if (!error) error = std::current_exception();
      next.store(parts);
    }
  }
};

// A thread that works on one job after the other. It ends with the process.
class HelpersAwake::Helper {
 public:
  Helper* next = nullptr;  // in a list of them

  void set_awake(bool awake) { awake_.store(awake, std::memory_order_relaxed); }

  // To be waited for before the next one.
  void give(Job& job, int worker) {
    job_ = &job;
    worker_ = worker;
    given_.fetch_add(1, std::memory_order_release);
    given_.notify_one();
  }
  void wait() {
    const uint32_t wanted = given_.load(std::memory_order_relaxed);
    uint32_t done = done_.load(std::memory_order_acquire);
    while (done != wanted) done = changed(done_, done, awake_);
  }

  void run() {
    for (uint32_t seen = 0;;) {
      seen = changed(given_, seen, awake_);
      job_->work(worker_);
      done_.store(seen, std::memory_order_release);
      done_.notify_one();
    }
  }

 private:
  std::atomic<uint32_t> given_{0};  // jobs so far
  std::atomic<uint32_t> done_{0};   // of them
  std::atomic<bool> awake_{true};   // waits for the next one awake
  Job* job_ = nullptr;
  int worker_ = 0;
};

// Helpers without work. Never destroyed, since they may outlive everything else.
class HelpersAwake::Pool {
 public:
  static Pool& instance() {
    static std::once_flag once;
    std::call_once(once, [] {
      current() = new Pool;
      // A process that was forked has none of the threads.
      pthread_atfork(nullptr, nullptr, [] { current() = new Pool; });
    });
    return *current();
  }

  // A list of so many. Fewer where there are no more threads to be had.
  Helper* take(int count) {
    Helper* taken = nullptr;
    const std::lock_guard lock(mutex_);
    for (; count > 0; --count) {
      Helper* helper = idle_;
      if (helper != nullptr) idle_ = helper->next;
      else if ((helper = started()) == nullptr) break;
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
      std::thread([own = helper.get()] { own->run(); }).detach();
      return helper.release();
    } catch (const std::system_error&) {
      return nullptr;
    }
  }

  std::mutex mutex_;
  Helper* idle_ = nullptr;  // a list
};

HelpersAwake::HelpersAwake(int threads)
    : before_(own_helpers), helpers_(threads > 1 ? Pool::instance().take(threads - 1) : nullptr) {
  for (Helper* helper = helpers_; helper != nullptr; helper = helper->next) helper->set_awake(true);
  own_helpers = helpers_ != nullptr ? this : nullptr;
}

HelpersAwake::~HelpersAwake() {
  own_helpers = before_;
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
  for (Helper* helper = helpers_; worker > 0; helper = helper->next, --worker) helper->wait();
  busy_ = false;
}

void parallel_for(int64_t count, int64_t grain, int threads,
                  FunctionRef<void(int64_t, int64_t, int)> body) {
  const int64_t parts = (count + grain - 1) / grain;
  const int workers = static_cast<int>(std::min<int64_t>(threads, parts));
  if (workers <= 1) {
    if (count > 0) body(0, count, 0);
    return;
  }
  HelpersAwake::Job job{count, grain, parts, body, {}, {}, {}};
  if (own_helpers != nullptr && !own_helpers->busy_) own_helpers->run(job, workers - 1);
  else HelpersAwake(workers).run(job, workers - 1);
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace aoe
