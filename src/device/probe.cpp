#include "device/probe.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace aoe {
namespace {

constexpr char kDone = 1;

// Forks without atfork handlers of other libraries if possible: the child runs none of their code.
pid_t fork_without_atfork_handlers() {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
  return _Fork();
#else
  return fork();
#endif
}

// Makes a fault end the child silently: without a core file, without the host's signal handlers.
void end_on_faults() {
  struct sigaction action = {};
  action.sa_handler = [](int) { _exit(1); };
  sigset_t faults;
  sigemptyset(&faults);
  for (const int fault : {SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGTRAP, SIGABRT, SIGSYS}) {
    sigaction(fault, &action, nullptr);
    sigaddset(&faults, fault);
  }
  sigprocmask(SIG_UNBLOCK, &faults, nullptr);
}

[[noreturn]] void run_child(const std::function<void()>& body, int report) {
  end_on_faults();
  body();
  while (write(report, &kDone, 1) < 0 && errno == EINTR) {
  }
  _exit(0);
}

// Whether the child reports through the pipe that it is done; end of file means that it died. Its
// exit status cannot serve, because a host that waits for all children may consume it.
bool says_done(int pipe, std::chrono::milliseconds timeout) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + timeout;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() < 0) return false;
    pollfd ready{pipe, POLLIN, 0};
    const int count = poll(&ready, 1, static_cast<int>(left.count()));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    char word = 0;
    const ssize_t size = read(pipe, &word, 1);
    if (size < 0 && errno == EINTR) continue;
    return size == 1 && word == kDone;
  }
}

#if defined(__x86_64__)

// Clobbers name only xmm registers: the compiler uses no wider ones in this file.

void run_fma() { asm volatile("vfmadd231ps %%xmm0, %%xmm0, %%xmm1" ::: "xmm0", "xmm1"); }

void run_f16c() {
  asm volatile(
      "vcvtps2ph $0, %%xmm0, %%xmm1\n"
      "vcvtph2ps %%xmm1, %%xmm0" ::
          : "xmm0", "xmm1");
}

void run_avx2() {
  asm volatile(
      "vpxor %%ymm0, %%ymm0, %%ymm0\n"
      "vpaddd %%ymm0, %%ymm0, %%ymm1\n"
      "vpermd %%ymm1, %%ymm0, %%ymm1\n"
      "vfmadd231ps %%ymm0, %%ymm0, %%ymm1\n"
      "vcvtps2ph $0, %%ymm0, %%xmm1\n"
      "vcvtph2ps %%xmm1, %%ymm0\n"
      "vzeroupper" ::
          : "xmm0", "xmm1");
}

void run_avx512() {
  asm volatile(
      "vpxord %%zmm0, %%zmm0, %%zmm0\n"           // F
      "vpaddd %%zmm0, %%zmm0, %%zmm31\n"          // F, the upper registers
      "vfmadd231ps %%zmm0, %%zmm31, %%zmm1\n"     // F
      "vandps %%zmm0, %%zmm1, %%zmm1\n"           // DQ
      "vpaddb %%zmm0, %%zmm1, %%zmm1\n"           // BW
      "vpcmpeqb %%zmm0, %%zmm1, %%k1\n"           // BW, a mask of 64
      "vpconflictd %%zmm0, %%zmm1\n"              // CD
      "vpaddd %%ymm0, %%ymm31, %%ymm1%{%%k1%}\n"  // VL
      "vzeroupper" ::
          : "xmm0", "xmm1");
}

void run_instructions(const Features& features) {
  if (features.has(Feature::fma)) run_fma();
  if (features.has(Feature::f16c)) run_f16c();
  if (features.has(Feature::avx2)) run_avx2();
  if (features.has(Feature::avx512)) run_avx512();
}

#else

void run_instructions(const Features&) {}

#endif

}  // namespace

bool runs_in_child(const std::function<void()>& body, std::chrono::milliseconds timeout) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  const pid_t child = fork_without_atfork_handlers();
  if (child == 0) run_child(body, ends[1]);
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    return false;
  }
  const bool done = says_done(ends[0], timeout);
  close(ends[0]);
  // Done or not, the child is not needed any more. It is killed only if it still exists: if the
  // host has waited for it already, its pid may belong to another process.
  if (waitpid(child, nullptr, WNOHANG) == 0) {
    kill(child, SIGKILL);
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  return done;
}

bool features_run(const Features& features) {
  return runs_in_child([&] { run_instructions(features); });
}

Features working_features(const Features& announced,
                          const std::function<bool(const Features&)>& run) {
  if (announced == Features{}) return announced;
  // One child for all features, because forking a large process is slow; one each if that fails.
  if (run(announced)) return announced;
  Features working;
  for (const Feature feature : kFeatures) {
    working.set(feature, announced.has(feature) && run({feature}));
  }
  // Features that kernels for wider vectors expect as well.
  const auto need = [&](Feature feature, Features others) {
    if (!working.has_all(others)) working.set(feature, false);
  };
  need(Feature::avx2, {Feature::fma, Feature::f16c});
  need(Feature::avx512, {Feature::avx2});
  return working;
}

void set_features(Device& device, const Features& announced, const Features& working) {
  device.features = working;
  device.features.set(Feature::sse2, true);
  for (const Feature feature : kFeatures) {
    device.announced_only.set(feature, announced.has(feature) && !working.has(feature));
  }
  const Feature widest = device.vector_features().back();
  device.vector_bytes = vector_bytes(widest);
  device.vector_registers = vector_registers(widest);
}

}  // namespace aoe
