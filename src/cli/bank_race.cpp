#include "cli/bank_race.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "backend/kernel.h"
#include "base/error.h"
#include "base/notice.h"
#include "base/parallel.h"
#include "base/time_text.h"
#include "base/utf8.h"
#include "cli/bank_files.h"
#include "cli/words.h"
#include "codegen/cpu_backend.h"
#include "device/cores.h"
#include "expr/parse.h"
#include "measure/host/device_lock.h"
#include "measure/statistics/intervals.h"
#include "measure/statistics/rounds.h"
#include "measure/worker/random_tensor.h"
#include "policy/policy_text.h"
#include "runtime/stored_policies.h"

namespace aoe {
namespace {

constexpr double kRaceSeconds = 2;

struct Race {
  Interval speed_up;  // of the second policy over the first
  double first_ns = 0;
  double second_ns = 0;
  int64_t samples = 0;
};

// Throws Error if a text is not valid here.
Race race(const BankEntry& first, const BankEntry& second, const Backend& backend) {
  const auto workload = std::make_shared<const Workload>(parse_workload(first.workload));
  const int threads = first.target.threads;
  std::mt19937 random(1);
  std::vector<Tensor> inputs, weights, outputs;
  for (const int id : workload->inputs) {
    const Workload::Value& value = workload->values[static_cast<size_t>(id)];
    inputs.push_back(random_tensor(value.type, random));
    weights.push_back(value.weight ? inputs.back() : Tensor{});
  }
  for (const int id : workload->outputs) {
    outputs.emplace_back(workload->values[static_cast<size_t>(id)].type);
  }
  const auto kernel = [&](const BankEntry& entry) {
    return Kernel(workload, parse_policy(entry.policy, *workload), backend, threads, weights);
  };
  const Kernel one = kernel(first);
  const Kernel other = kernel(second);
  const HelpersAwake helpers(threads);
  const std::vector<ParticipantTimes> turns = measure_rounds(
      {[&] { one.run_into(inputs, outputs); }, [&] { other.run_into(inputs, outputs); }},
      {.seconds = kRaceSeconds});
  return {ratio_of(turns[0].medians_ns, turns[1].medians_ns), median_of(turns[0].medians_ns).median,
          median_of(turns[1].medians_ns).median, static_cast<int64_t>(turns[0].medians_ns.size())};
}

}  // namespace

std::optional<BankEntry> raced(const Conflict& conflict) {
  const bool is_ours = compare(conflict.ours, conflict.theirs) > 0;
  const BankEntry& better = is_ours ? conflict.ours : conflict.theirs;
  BankEntry other = is_ours ? conflict.theirs : conflict.ours;
  if (better.kind() != EntryKind::policy) return std::nullopt;
  const auto backend = backend_for(host_backend(), better.target.instruction_set);
  require(backend && target_of(backend->device(), better.target.threads) == better.target,
          "--race: {} was tuned for {} with {}, which this machine is not: merge without --race",
          title_of(better), better.target.soc_version, better.target.instruction_set);
  require(better.target.threads <= usable_cores(),
          "--race: {} was tuned for {}, this process may use {}: merge without --race",
          title_of(better), count_text(better.target.threads, "thread"),
          count_text(usable_cores(), "core"));
  const DeviceLock lock(0);
  try {
    const auto [speed_up, better_ns, other_ns, samples] = race(better, other, *backend);
    const bool is_faster = speed_up.low > 1 + kMargin;
    fmt::print(stderr,
               "raced {}: the less well proven policy is {:.3f} times as fast ({:.3f} to "
               "{:.3f}): it is {}\n",
               printable(title_of(better)), speed_up.median, speed_up.low, speed_up.high,
               is_faster ? "taken" : "not taken");
    if (!is_faster) return std::nullopt;
    other.gain = {.before_ns = better_ns,
                  .after_ns = other_ns,
                  .speedup_low = speed_up.low,
                  .speedup_high = std::max(speed_up.low, speed_up.high),
                  .samples = samples};
    other.baseline = better.policy;
    other.total_low = speed_up_of_both(better.total_low, speed_up.low);
    other.date = utc_text(std::chrono::system_clock::now());
    other.evidence.insert(fmt::format("race/{}/{}", other.date, key_text(other.workload)));
    return other;
  } catch (const Error& error) {
    notice(fmt::format("--race: {}: {}; the better proven policy is kept", title_of(better),
                       error.what()));
    return std::nullopt;
  }
}

}  // namespace aoe
