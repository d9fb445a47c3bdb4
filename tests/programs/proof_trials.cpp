// Measures error rate and power of the sequential test (measure/statistics/proof.h) on this
// machine:
//
//   proof_trials [TRIALS [CONDITION...]]
//
// In each trial a kernel is compared with itself, or with a copy that is slowed by a known share,
// each block in a fresh process. Conditions: same; same-loaded, with load on the other cores;
// same-apart, where each side has separate memory, whose placement favours one of them for the
// lifetime of a process; 3 and 5, the speed-up in percent to be detected. Exits with 1 if a rate
// provably misses its bound.

#include <fmt/format.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "backend/kernel.h"
#include "base/error.h"
#include "codegen/cpu_backend.h"
#include "expr/parse.h"
#include "measure/statistics/block.h"
#include "measure/statistics/proof.h"

namespace aoe {
namespace {

// A kernel of a few microseconds, one of a few tenths of a millisecond, and one with weights.
constexpr std::array<const char*, 3> kWorkloads = {
    R"(in %0 f32[64,128]
%1 f32[64] = max(r:128) %0[a, r]
%2 f32[64] = sum(r:128) exp(%0[a, r] - %1[a])
%3 f32[64,128] = exp(%0[a, b] - %1[a]) / %2[a]
out %3)",
    R"(in %0 f32[128,3072]
%1 f32[128,3072] = (0.5 * %0[a, b]) * (1 + erf(%0[a, b] / 1.4142135623730951))
out %1)",
    R"(in %0 f32[1,64,28,28]
weight %1 f32[64,64,3,3]
%2 f32[1,64,28,28] = sum(r:64,s:3,t:3) %0[a, r, (c + s) - 1, (d + t) - 1]?0 * %1[b, r, s, t]
out %2)"};

// Time limit of a proof.
constexpr double kMostSeconds = 3;

struct Condition {
  const char* name;
  double gain;
  bool loaded;
  bool apart;
  // Bounds of the share of trials that may be accepted.
  double most;
  double least;
};
constexpr std::array<Condition, 5> kConditions = {{
    {"same", 0, false, false, 0.01, 0},
    {"same-loaded", 0, true, false, 0.01, 0},
    {"same-apart", 0, false, true, 0.01, 0},
    {"3", 0.03, false, false, 1, 0.80},
    {"5", 0.05, false, false, 1, 0.95},
}};

// --- a block, in a process of its own ------------------------------------------------------------

// Takes time proportional to `steps` without using the caches.
void delay(int64_t steps) {
  uint64_t chain = 1;
  for (int64_t i = 0; i < steps; ++i) asm volatile("imul $3, %0, %0" : "+r"(chain));
}

// Returns the minimum time of one call.
double shortest_ns(const std::function<void()>& call) {
  double shortest = INFINITY;
  for (int turn = 0; turn < 10; ++turn) {
    int64_t calls = 0;
    const double start = steady_ns();
    double now = start;
    for (; now - start < 300e3; now = steady_ns()) {
      for (int i = 0; i < 8; ++i) call();
      calls += 8;
    }
    shortest = std::min(shortest, (now - start) / static_cast<double>(calls));
  }
  return shortest;
}

Tensor random_tensor(const TensorType& type, std::mt19937& random) {
  Tensor tensor(type);
  std::normal_distribution<float> normal;
  std::generate_n(tensor.data<float>(), tensor.count(), [&] { return normal(random); });
  return tensor;
}

void print_block(size_t workload_number, double gain, bool apart, uint32_t seed) {
  const auto workload =
      std::make_shared<const Workload>(parse_workload(kWorkloads[workload_number]));
  std::mt19937 random(seed);
  struct Memory {
    std::vector<Tensor> inputs;
    std::vector<Tensor> outputs;
  };
  const auto memory = [&] {
    Memory made;
    for (const int id : workload->inputs) {
      made.inputs.push_back(random_tensor(workload->values[static_cast<size_t>(id)].type, random));
    }
    for (const int id : workload->outputs) {
      made.outputs.emplace_back(workload->values[static_cast<size_t>(id)].type);
    }
    return made;
  };
  Memory memories[] = {memory(), memory()};
  std::vector<Tensor> weights;
  for (size_t i = 0; i < workload->inputs.size(); ++i) {
    const bool weight = workload->values[static_cast<size_t>(workload->inputs[i])].weight;
    weights.push_back(weight ? memories[0].inputs[i] : Tensor{});
  }
  // The baseline is the first or the second kernel at random: the order of allocation affects
  // times.
  const Kernel kernels[] = {{workload, *host_backend(), 1, weights},
                            {workload, *host_backend(), 1, weights}};
  const size_t which = random() % 2;
  const auto call = [&](size_t kernel) {
    Memory& own = memories[apart ? kernel : 0];
    kernels[kernel].run_into(own.inputs, own.outputs);
  };
  constexpr int64_t kSteps = 1000;
  const double step_ns = shortest_ns([] { delay(kSteps); }) / kSteps;
  const auto steps =
      gain > 0 ? static_cast<int64_t>(gain * shortest_ns([&] { call(0); }) / step_ns) : 0;
  const Block block = measure_block(
      [&] {
        call(which);
        delay(steps);
      },
      [&] { call(1 - which); }, {.seed = static_cast<uint32_t>(random())});
  fmt::print("{} {}\n", block_speed_up(block.baseline_ns, block.candidate_ns), block.spent_ns);
}

// --- trials --------------------------------------------------------------------------------------

struct Measured {
  double speed_up = 0;
  double spent_ns = 0;
};

Measured measured_block(size_t workload, const Condition& condition, uint32_t seed) {
  static const std::string program = [] {
    char path[4096] = {};
    const ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    return std::string(path, static_cast<size_t>(std::max<ssize_t>(size, 0)));
  }();
  const std::string command = fmt::format("exec '{}' --block {} {} {:d} {}", program, workload,
                                          condition.gain, condition.apart, seed);
  FILE* const pipe = popen(command.c_str(), "re");
  require(pipe != nullptr, "no process: {}", std::strerror(errno));
  Measured measured;
  const int values = std::fscanf(pipe, "%lf %lf", &measured.speed_up, &measured.spent_ns);
  require(pclose(pipe) == 0 && values == 2, "a block failed: {}", command);
  return measured;
}

// Starts a process that alternates between memory traffic and arithmetic on one core until killed.
pid_t start_load(int core) {
  const pid_t child = fork();
  if (child != 0) return child;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  sched_setaffinity(0, sizeof cores, &cores);
  std::vector<char> from(64 << 20, 1);
  std::vector<char> to(from.size());
  for (;;) {
    std::memcpy(to.data(), from.data(), to.size());
    asm volatile("" : : "r"(to.data()) : "memory");
    delay(20'000'000);
  }
}

// Clopper-Pearson interval of a rate at kConfidence, for `seen` of `all`.
std::pair<double, double> rate_interval(int seen, int all) {
  const auto at_most = [&](int count, double rate) {
    double sum = 0;
    for (int i = 0; i <= count; ++i) {
      sum += std::exp(std::lgamma(all + 1.0) - std::lgamma(i + 1.0) - std::lgamma(all - i + 1.0) +
                      i * std::log(rate) + (all - i) * std::log1p(-rate));
    }
    return sum;
  };
  const auto solve = [](const std::function<bool(double)>& below) {
    double low = 1e-12;
    double high = 1 - 1e-12;
    for (int i = 0; i < 60; ++i) (below((low + high) / 2) ? low : high) = (low + high) / 2;
    return low;
  };
  constexpr double kSide = (1 - kConfidence) / 2;
  return {seen == 0 ? 0 : solve([&](double p) { return 1 - at_most(seen - 1, p) < kSide; }),
          seen == all ? 1 : solve([&](double p) { return at_most(seen, p) > kSide; })};
}

// Returns false if the rate provably misses its bound.
bool run_condition(const Condition& condition, int trials, uint32_t first_seed) {
  int accepted = 0;
  double blocks = 0;
  double seconds = 0;
  double longest = 0;
  std::vector<double> all_speed_ups;
  uint32_t seed = first_seed;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> speed_ups;
    double spent = 0;
    Proof proof;
    while (proof.decision == ProofDecision::undecided && spent < kMostSeconds) {
      const auto workload = static_cast<size_t>(trial) % kWorkloads.size();
      const Measured block = measured_block(workload, condition, seed++);
      speed_ups.push_back(block.speed_up);
      all_speed_ups.push_back(block.speed_up);
      spent += block.spent_ns / 1e9;
      proof = proof_of(speed_ups);
    }
    if (proof.decision == ProofDecision::accepted) ++accepted;
    blocks += static_cast<double>(speed_ups.size());
    seconds += spent;
    longest = std::max(longest, spent);
  }
  const auto [low, high] = rate_interval(accepted, trials);
  std::sort(all_speed_ups.begin(), all_speed_ups.end());
  const auto quantile = [&](double share) {
    return all_speed_ups[static_cast<size_t>(share * static_cast<double>(all_speed_ups.size()))];
  };
  fmt::print("{:12} {:4} of {} accepted: {:.2f} %, between {:.2f} and {:.2f}; bar {} {:g} %\n",
             condition.name, accepted, trials, 100.0 * accepted / trials, 100 * low, 100 * high,
             condition.least > 0 ? "at least" : "at most",
             100 * (condition.least > 0 ? condition.least : condition.most));
  fmt::print(
      "{:12} {:.1f} blocks, {:.2f} s of measuring, at most {:.2f}; of all blocks 90 % saw "
      "{:.4f} to {:.4f}, half of them more than {:.4f}\n",
      "", blocks / trials, seconds / trials, longest, quantile(0.05), quantile(0.95),
      quantile(0.5));
  std::fflush(stdout);
  return low <= condition.most && high >= condition.least;
}

// Returns the processors that this process may use.
std::vector<int> own_cores() {
  cpu_set_t cores;
  sched_getaffinity(0, sizeof cores, &cores);
  std::vector<int> list;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &cores)) list.push_back(core);
  }
  return list;
}

bool run_trials(int trials, const std::vector<std::string>& names) {
  const std::vector<int> cores = own_cores();
  cpu_set_t last;
  CPU_ZERO(&last);
  CPU_SET(cores.back(), &last);
  sched_setaffinity(0, sizeof last, &last);  // inherited by all blocks
  const uint32_t seed = std::random_device()();
  bool met = true;
  for (const Condition& condition : kConditions) {
    if (!names.empty() && std::find(names.begin(), names.end(), condition.name) == names.end()) {
      continue;
    }
    std::vector<pid_t> load;
    if (condition.loaded) {
      require(cores.size() > 1, "'{}' needs a second core", condition.name);
      for (size_t i = 0; i + 1 < cores.size(); ++i) load.push_back(start_load(cores[i]));
    }
    met = run_condition(condition, trials, seed) && met;
    for (const pid_t child : load) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
  }
  return met;
}

}  // namespace
}  // namespace aoe

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    if (arguments.size() == 5 && arguments[0] == "--block") {
      aoe::print_block(std::stoul(arguments[1]), std::stod(arguments[2]), arguments[3] == "1",
                       static_cast<uint32_t>(std::stoul(arguments[4])));
      return 0;
    }
    const int trials = arguments.empty() ? 1000 : std::stoi(arguments[0]);
    const size_t options = std::min<size_t>(1, arguments.size());
    return aoe::run_trials(trials,
                           {arguments.begin() + static_cast<ptrdiff_t>(options), arguments.end()})
               ? 0
               : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "proof_trials: {}\n", error.what());
    return 2;
  }
}
