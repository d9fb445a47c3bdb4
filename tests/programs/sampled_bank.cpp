// Writes a bank with a random policy for each workload of a model that has fixed shapes, on one
// thread: sampled_bank MODEL FILE SEED [strassen]. The policies are samples of the search space
// that tuning explores, other than the default; nothing is measured. With "strassen", they may use
// Strassen's algorithm. Prints the number of workloads in the bank, and how many need each class of
// algorithms.

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <set>
#include <string_view>

#include "bank/bank.h"
#include "codegen/cpu_backend.h"
#include "expr/workload.h"
#include "policy/policy_text.h"
#include "policy/space.h"
#include "runtime/loaded_model.h"

namespace aoe {
namespace {

// A few samples may be the default; a space in which all of them are has no other policy.
constexpr int kSamples = 20;

std::optional<std::string> sampled_policy(const Workload& workload, const Device& device,
                                          Random& random) {
  const Space space(std::make_shared<const Workload>(workload), device);
  const std::string usual = to_string(space.default_policy(), workload);
  for (int i = 0; i < kSamples; ++i) {
    std::string sampled = to_string(space.sample(random), workload);
    if (sampled != usual) return sampled;
  }
  return std::nullopt;
}

BankEntry entry_of(const Workload& workload, const Device& device, std::string policy) {
  return {.workload = to_string(workload),
          .target = target_of(device, 1),
          .allowed = workload.numerics,
          .policy = std::move(policy),
          .gain = {.before_ns = 1, .after_ns = 1, .speedup_low = 1, .speedup_high = 1},
          .evidence = {"sampled"},
          .processor = "sampled",
          .date = "2026-11-17T05:30:00Z",
          .effort = "O2"};
}

void write_bank(const std::string& model, const std::string& file, Random random, bool strassen) {
  LoadOptions options;
  options.threads = 1;
  options.impl.allow_strassen = strassen;
  const auto backend = host_backend();
  const Device& device = backend->device();
  const LoadedModel loaded = LoadedModel::from_file(model, options, backend);
  require(loaded.executable() != nullptr, "the shapes of '{}' are not fixed", model);
  Bank bank = Bank::for_writing(file, device.soc_version());
  std::set<std::string> seen;
  std::array<int, kNumericsNames.size()> classes{};
  int written = 0;
  for (const auto& kernel : loaded.executable()->kernels()) {
    const Workload& workload = kernel->workload();
    if (!seen.insert(to_string(workload)).second) continue;
    const auto policy = sampled_policy(workload, device, random);
    if (!policy) continue;
    bank.put(entry_of(workload, device, *policy), std::nullopt);
    ++classes[static_cast<size_t>(numerics_of(*policy))];
    ++written;
  }
  fmt::print("workloads {}\n", written);
  for (size_t i = 0; i < classes.size(); ++i) fmt::print("{} {}\n", kNumericsNames[i], classes[i]);
}

}  // namespace
}  // namespace aoe

int main(int argc, char** argv) {
  const bool strassen = argc == 5 && std::string_view(argv[4]) == "strassen";
  if (argc != 4 && !strassen) {
    fmt::print(stderr, "usage: sampled_bank MODEL FILE SEED [strassen]\n");
    return 2;
  }
  try {
    aoe::write_bank(argv[1], argv[2], aoe::Random(std::strtoull(argv[3], nullptr, 10)), strassen);
    return 0;
  } catch (const aoe::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
