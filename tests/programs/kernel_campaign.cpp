// Compares random kernels with the reference: kernel_campaign [PAIRS [FIRST_SEED]]. Pairs run in a
// child process, so that one that crashes is reported and the others go on. Prints each failing
// pair as text, and exits with 1 if there is one. A single pair runs in this process.

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/cpp/random_kernels.h"

namespace {

// Progress of the child, in memory shared with its parent.
struct Progress {
  uint64_t seed;
  uint64_t failures;
  uint64_t strips, halos;  // pairs that have them
  char text[1 << 16];
};
Progress* progress = nullptr;

// A pair hangs if it takes a minute of CPU time, or half an hour of wall-clock time, which is
// generous because the campaign may be paused.
constexpr unsigned kMostSecondsUsed = 60;
constexpr unsigned kMostSeconds = 1800;

void announce(uint64_t seed, const std::string& text) {
  const itimerval used{{0, 0}, {kMostSecondsUsed, 0}};
  setitimer(ITIMER_PROF, &used, nullptr);
  alarm(kMostSeconds);
  progress->seed = seed;
  std::snprintf(progress->text, sizeof progress->text, "%s", text.c_str());
}

void run_pairs(uint64_t first, uint64_t last) {
  for (uint64_t seed = first; seed < last; ++seed) {
    aoe::PairKind kind;
    const auto failure = aoe::failure_of_pair(seed, announce, &kind);
    progress->strips += kind.strips ? 1 : 0;
    progress->halos += kind.halo ? 1 : 0;
    if (failure) {
      ++progress->failures;
      fmt::print("--- {}\n", *failure);
    }
    std::fflush(stdout);
  }
}

// Runs pairs from seed `first` on; returns the first seed that was not run.
uint64_t run_in_child(uint64_t first, uint64_t last) {
  progress->seed = first;
  std::fflush(stdout);  // otherwise the child prints it again
  const pid_t child = fork();
  if (child == 0) {
    run_pairs(first, last);
    _exit(0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) {
    fmt::print(stderr, "a process for the pairs cannot be made: {}\n", std::strerror(errno));
    std::exit(2);
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return last;
  ++progress->failures;
  fmt::print("--- {}{}\n", progress->text,
             WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "ended the process");
  return progress->seed + 1;
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t pairs = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000;
  const uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  // A new process after this many pairs releases the memory of their kernels.
  constexpr uint64_t kEach = 500;
  progress = static_cast<Progress*>(
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (progress == MAP_FAILED) return 2;
  if (pairs == 1) {
    // In this process, for debugging.
    run_pairs(first, first + 1);
    return progress->failures == 0 ? 0 : 1;
  }
  const auto start = std::chrono::steady_clock::now();
  for (uint64_t at = first; at < first + pairs;) {
    at = run_in_child(at, std::min(at + kEach, first + pairs));
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    fmt::print(stderr, "{} pairs in {:.0f} s, {} by strips, {} with a halo, {} failed\n",
               at - first, seconds, progress->strips, progress->halos, progress->failures);
  }
  // Detects that the generator no longer produces strips with a halo.
  constexpr uint64_t kEnough = 1000;
  constexpr uint64_t kOneIn = 20;
  if (pairs >= kEnough && progress->halos < pairs / kOneIn) {
    fmt::print(stderr, "fewer than one pair in {} has strips with a halo\n", kOneIn);
    return 1;
  }
  return progress->failures == 0 ? 0 : 1;
}
