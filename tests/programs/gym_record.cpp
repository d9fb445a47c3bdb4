// Records the gym: how long policies of small workloads take on this machine, on one thread.
//
//   gym_record WORKLOADS.txt FOLDER [POLICIES [NAME...]]
//
// Writes FOLDER/NAME.txt.gz for each workload that has no file there yet, so that it can be
// interrupted and resumed. Policies are compiled and timed in this process.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "backend/kernel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/parallel.h"
#include "codegen/cpu_backend.h"
#include "measure/worker/random_tensor.h"
#include "policy/policy_text.h"
#include "policy/space.h"
#include "tests/gym/recorded.h"

namespace aoe {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBatch = 64;
constexpr int kRounds = 6;
// The fastest samples are measured again with more rounds, until all of the fastest have been (at
// most kMostRefinements times).
constexpr double kTopShare = 0.01;
constexpr size_t kFewestTop = 16;
constexpr int kTopRounds = 24;
constexpr int kMostRefinements = 6;
constexpr double kTurnNs = 20e3;
// A sample that is slower than the default by this factor after one round is not measured further.
constexpr double kHopeless = 4;

class Recorder {
 public:
  Recorder(const GymWorkload& of, size_t policies)
      : of_(of), device_(one_core()), space_(of.workload, device_), policies_(policies) {
    std::mt19937 random(1);
    for (const int id : of.workload->inputs) {
      const Workload::Value& value = of.workload->values[static_cast<size_t>(id)];
      inputs_.push_back(random_tensor(value.type, random));
      weights_.push_back(value.weight ? inputs_.back() : Tensor{});
    }
    for (const int id : of.workload->outputs) {
      outputs_.emplace_back(of.workload->values[static_cast<size_t>(id)].type);
    }
  }

  RecordedSpace record() {
    default_kernel_ = made(space_.default_policy());
    require(default_kernel_ != nullptr, "{}: the default policy cannot be compiled", of_.name);
    RecordedSpace recorded{
        of_, device_, shortest_standard(), {{space_.default_policy(), 1, false}}};
    known_[text_of(space_.default_policy())] = false;
    std::vector<Policy> wanted = space_.neighbours(space_.default_policy());
    for (int barren = 0; recorded.samples.size() < policies_ && barren < 3;) {
      std::vector<RecordedSpace::Sample> batch = next(wanted, recorded.samples);
      barren = batch.empty() ? barren + 1 : 0;
      measure(batch, kRounds);
      recorded.samples.insert(recorded.samples.end(), batch.begin(), batch.end());
    }
    refine(recorded.samples);
    for (RecordedSpace::Sample& one : recorded.samples) one.random = known_[text_of(one.policy)];
    return recorded;
  }

 private:
  static Device one_core() {
    Device device = host_device();
    device.cores = 1;
    return device;
  }
  std::string text_of(const Policy& policy) const { return to_string(policy, *of_.workload); }

  // The wanted policies first; then half random samples, and half crossovers and mutations of the
  // best so far, so that the part of the space where searchers end up is sampled most densely.
  std::vector<RecordedSpace::Sample> next(std::vector<Policy>& wanted,
                                          const std::vector<RecordedSpace::Sample>& samples) {
    std::vector<size_t> best(samples.size());
    for (size_t i = 0; i < best.size(); ++i) best[i] = i;
    std::stable_sort(best.begin(), best.end(),
                     [&](size_t a, size_t b) { return samples[a].share < samples[b].share; });
    best.resize(std::min<size_t>(best.size(), 24));
    const auto one_of_best = [&]() -> const Policy& {
      return samples[best[random_() % best.size()]].policy;
    };
    std::vector<RecordedSpace::Sample> batch;
    for (int tries = 0; batch.size() < kBatch && tries < 4096; ++tries) {
      RecordedSpace::Sample one{{}, 1, false};
      if (!wanted.empty()) {
        one.policy = std::move(wanted.back());
        wanted.pop_back();
      } else if (tries % 2 == 0) {
        one = {space_.sample(random_), 1, true};
      } else {
        one.policy = space_.crossover(one_of_best(), one_of_best(), random_);
        for (uint64_t changes = random_() % 3; changes > 0; --changes) {
          one.policy = space_.mutate(one.policy, random_);
        }
      }
      const auto [known, is_new] = known_.try_emplace(text_of(one.policy), one.random);
      known->second = known->second || one.random;
      if (is_new) batch.push_back(std::move(one));
    }
    return batch;
  }

  // Returns null for policies that a job would reject.
  std::unique_ptr<Kernel> made(const Policy& policy) const {
    try {
      auto kernel =
          std::make_unique<Kernel>(of_.workload, policy, *cpu_backend(device_), 1, weights_);
      if (default_kernel_ && kernel->spills() > default_kernel_->spills()) return nullptr;
      return kernel;
    } catch (const Error&) {
      return nullptr;
    }
  }

  double shortest_standard() {
    double best = turn(*default_kernel_);
    for (int round = 1; round < kTopRounds; ++round) best = std::min(best, turn(*default_kernel_));
    return best;
  }

  // Sets the share of each sample: its minimum time divided by the default's, in rounds in random
  // order. The default runs right before each sample, so that both see the same machine state.
  void measure(std::vector<RecordedSpace::Sample>& samples, int rounds) {
    const auto count = static_cast<int64_t>(samples.size());
    std::vector<std::unique_ptr<Kernel>> kernels(samples.size());
    parallel_for(count, 1, host_device().cores, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        kernels[static_cast<size_t>(i)] = made(samples[static_cast<size_t>(i)].policy);
      }
    });
    constexpr double kNever = std::numeric_limits<double>::infinity();
    std::vector<double> own(samples.size(), kNever), beside(samples.size(), kNever);
    std::vector<size_t> order;
    for (size_t i = 0; i < samples.size(); ++i) {
      if (kernels[i]) order.push_back(i);
    }
    for (int round = 0; round < rounds; ++round) {
      std::shuffle(order.begin(), order.end(), random_);
      for (const size_t i : order) {
        if (round > 0 && own[i] > kHopeless * beside[i]) continue;
        beside[i] = std::min(beside[i], turn(*default_kernel_));
        own[i] = std::min(own[i], turn(*kernels[i]));
      }
    }
    for (size_t i = 0; i < samples.size(); ++i) {
      samples[i].share = kernels[i] ? own[i] / beside[i] : kNever;
    }
  }

  double turn(const Kernel& kernel) {
    kernel.run_into(inputs_, outputs_);  // warm-up: reloads the caches after other kernels
    double best = std::numeric_limits<double>::infinity();
    double total = 0;
    do {
      const double begin = steady_ns();
      kernel.run_into(inputs_, outputs_);
      const double ns = steady_ns() - begin;
      best = std::min(best, ns);
      total += ns;
    } while (total < kTurnNs);
    return best;
  }

  void refine(std::vector<RecordedSpace::Sample>& samples) {
    const auto by_share = [](const auto& a, const auto& b) { return a.share < b.share; };
    const size_t top =
        std::max(kFewestTop, static_cast<size_t>(kTopShare * static_cast<double>(samples.size())));
    std::set<std::string> refined{text_of(space_.default_policy())};
    for (int i = 0; i < kMostRefinements; ++i) {
      std::stable_sort(samples.begin() + 1, samples.end(), by_share);
      std::vector<RecordedSpace::Sample> best;
      std::vector<size_t> places;
      for (size_t k = 1; k < std::min(samples.size(), 1 + top); ++k) {
        if (!refined.insert(text_of(samples[k].policy)).second) continue;
        best.push_back(samples[k]);
        places.push_back(k);
      }
      if (best.empty()) return;
      measure(best, kTopRounds);
      for (size_t k = 0; k < best.size(); ++k) samples[places[k]] = best[k];
    }
    std::stable_sort(samples.begin() + 1, samples.end(), by_share);
  }

  GymWorkload of_;
  Device device_;
  Space space_;
  size_t policies_;
  Random random_{1};
  std::vector<Tensor> inputs_, weights_, outputs_;
  std::unique_ptr<Kernel> default_kernel_;
  std::map<std::string, bool> known_;  // by text: was it drawn at random?
};

int record(const fs::path& workloads, const fs::path& folder, size_t policies,
           const std::set<std::string>& names) {
  for (const GymWorkload& one : gym_workloads(workloads)) {
    const fs::path file = folder / (one.name + ".txt.gz");
    if (fs::exists(file) || (!names.empty() && !names.contains(one.name))) continue;
    const double begin = steady_ns();
    const RecordedSpace recorded = Recorder(one, policies).record();
    write_recorded(recorded, file);
    double best = 1;
    for (const auto& sample : recorded.samples) best = std::min(best, sample.share);
    fmt::print("{}: {} policies, default {:.1f} us, best {:.3f} of it, {:.0f} s\n", one.name,
               recorded.samples.size(), recorded.default_ns / 1e3, best,
               (steady_ns() - begin) / 1e9);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace aoe

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "gym_record WORKLOADS.txt FOLDER [POLICIES [NAME...]]\n");
    return 2;
  }
  try {
    const size_t policies = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 1500;
    return aoe::record(argv[1], argv[2], policies, {argv + std::min(argc, 4), argv + argc});
  } catch (const aoe::Error& error) {
    fmt::print(stderr, "gym_record: {}\n", error.what());
    return 1;
  }
}
