#include "base/parallel.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

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

// One call of parallel_for.
struct Job {
  int64_t count;
  int64_t grain;
  int64_t parts;
  const std::function<void(int64_t, int64_t)>& body;
  std::atomic<int64_t> next{0};
  std::exception_ptr error;
  std::mutex error_mutex;

  void work() {
    try {
      for (int64_t part; (part = next.fetch_add(1)) < parts;) {
        body(part * grain, std::min(count, (part + 1) * grain));
      }
    } catch (...) {
      const std::lock_guard lock(error_mutex);
      if (!error) error = std::current_exception();
      next.store(parts);
    }
  }
};

// A thread that works on one job after the other. It ends with the process.
class Helper {
 public:
  void set_awake(bool awake) { awake_.store(awake, std::memory_order_relaxed); }

  // To be waited for before the next one.
  void give(Job& job) {
    job_ = &job;
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
      job_->work();
      done_.store(seen, std::memory_order_release);
      done_.notify_one();
    }
  }

 private:
  std::atomic<uint32_t> given_{0};  // jobs so far
  std::atomic<uint32_t> done_{0};   // of them
  std::atomic<bool> awake_{true};   // waits for the next one awake
  Job* job_ = nullptr;
};

// Helpers without work. Never destroyed, since they may outlive everything else.
class Pool {
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

  // Fewer where there are no more threads to be had.
  std::vector<Helper*> take(int count) {
    std::vector<Helper*> taken;
    const std::lock_guard lock(mutex_);
    while (static_cast<int>(taken.size()) < count) {
      if (!idle_.empty()) {
        taken.push_back(idle_.back());
        idle_.pop_back();
        continue;
      }
      try {
        auto helper = std::make_unique<Helper>();
        std::thread([own = helper.get()] { own->run(); }).detach();
        taken.push_back(helper.release());
      } catch (const std::system_error&) {
        break;
      }
    }
    return taken;
  }

  void give_back(const std::vector<Helper*>& helpers) {
    const std::lock_guard lock(mutex_);
    idle_.insert(idle_.end(), helpers.begin(), helpers.end());
  }

 private:
  static Pool*& current() {
    static Pool* pool = nullptr;
    return pool;
  }

  std::mutex mutex_;
  std::vector<Helper*> idle_;
};

}  // namespace

// The helpers of one thread.
class Crew {
 public:
  explicit Crew(int helpers) : helpers_(Pool::instance().take(helpers)) {
    for (Helper* helper : helpers_) helper->set_awake(true);
  }
  ~Crew() {
    for (Helper* helper : helpers_) helper->set_awake(false);
    Pool::instance().give_back(helpers_);
  }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  bool is_busy() const { return busy_; }

  void run(Job& job, int helpers) {
    const auto used = std::min(static_cast<size_t>(helpers), helpers_.size());
    busy_ = true;
    for (size_t i = 0; i < used; ++i) helpers_[i]->give(job);
    job.work();
    for (size_t i = 0; i < used; ++i) helpers_[i]->wait();
    busy_ = false;
  }

 private:
  std::vector<Helper*> helpers_;
  bool busy_ = false;
};

namespace {

thread_local Crew* own_crew = nullptr;

}  // namespace

HelpersAwake::HelpersAwake(int threads)
    : before_(own_crew), crew_(threads > 1 ? std::make_unique<Crew>(threads - 1) : nullptr) {
  own_crew = crew_.get();
}

HelpersAwake::~HelpersAwake() { own_crew = before_; }

void parallel_for(int64_t count, int64_t grain, int threads,
                  const std::function<void(int64_t, int64_t)>& body) {
  const int64_t parts = (count + grain - 1) / grain;
  const int workers = static_cast<int>(std::min<int64_t>(threads, parts));
  if (workers <= 1) {
    if (count > 0) body(0, count);
    return;
  }
  Job job{count, grain, parts, body, {}, {}, {}};
  if (own_crew != nullptr && !own_crew->is_busy()) own_crew->run(job, workers - 1);
  else Crew(workers - 1).run(job, workers - 1);
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace aoe
