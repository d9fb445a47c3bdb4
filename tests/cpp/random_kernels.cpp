#include "tests/cpp/random_kernels.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "codegen/kernel.h"
#include "expr/parse.h"
#include "policy/policy_text.h"
#include "policy/space.h"
#include "policy/validate.h"
#include "tests/cpp/random_workloads.h"

namespace aoe {
namespace {

// Memory whose neighbours, before and behind, nobody may touch.
std::shared_ptr<void> guarded(size_t bytes, bool at_end, void*& elements) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t inner = (bytes + page - 1) / page * page;
  const size_t whole = inner + 2 * page;
  void* const base = mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(base != MAP_FAILED, "no memory for a guarded buffer");
  auto* const start = static_cast<std::byte*>(base) + page;
  if (inner > 0) require(mprotect(start, inner, PROT_READ | PROT_WRITE) == 0, "mprotect failed");
  std::memset(start, 0xa5, inner);
  elements = at_end ? start + inner - bytes : start;
  return {base, [whole](void* memory) { munmap(memory, whole); }};
}

Tensor guarded_tensor(const TensorType& type, bool at_end) {
  void* elements = nullptr;
  const auto bytes = static_cast<size_t>(type.count() * info(type.dtype).bytes);
  auto owner = guarded(bytes, at_end, elements);
  return Tensor::onto(type, elements, std::move(owner));
}

Tensor guarded_copy(const Tensor& from, bool at_end) {
  Tensor copy = guarded_tensor(from.type(), at_end);
  if (from.bytes() > 0) std::memcpy(copy.raw(), from.raw(), static_cast<size_t>(from.bytes()));
  return copy;
}

std::optional<std::string> difference(const Tensor& result, const Tensor& expected,
                                      double tolerance) {
  const std::vector<double> a = result.to_doubles();
  const std::vector<double> b = expected.to_doubles();
  double largest = 0;
  for (const double value : b) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  // What cancels out was made of numbers around 1.
  const double allowed = tolerance * std::max(largest, 1.0);
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (std::abs(a[i] - b[i]) <= allowed) continue;
    return fmt::format("element {} is {}, not {} (up to {} may differ)", i, a[i], b[i], allowed);
  }
  return std::nullopt;
}

Device random_device(Random& random) {
  const auto& sets = host_device().instruction_sets;
  return narrowed(host_device(), sets[random() % sets.size()]);
}

Policy random_policy(const Space& space, Random& random) {
  switch (random() % 4) {
    case 0: return space.standard();
    case 1: return space.sample(random);
    case 2: return space.crossover(space.sample(random), space.standard(), random);
    default: {
      Policy policy = space.standard();
      for (uint64_t i = random() % 4 + 1; i > 0; --i) policy = space.mutate(policy, random);
      return policy;
    }
  }
}

std::optional<std::string> failure(const RandomWorkload& made, uint64_t seed, Random& random,
                                   std::string& text, Announce announce) {
  const Device device = random_device(random);
  const std::string workload_text = to_string(*made.workload);
  text = fmt::format("seed {}, {}\n{}", seed, name(device.instruction_sets.back()), workload_text);
  const auto workload = std::make_shared<const Workload>(parse_workload(workload_text));
  const Space space(workload, device);
  const Policy policy = random_policy(space, random);
  const std::string policy_text = to_string(policy, *workload);
  text += policy_text;
  if (announce != nullptr) announce(seed, text);
  if (const auto fault = validate(policy, *workload, device)) return "not valid: " + *fault;
  if (parse_policy(policy_text, *workload) != policy) return "the policy reads back as another";

  const bool at_end = (random() & 1) != 0;
  const int threads = 1 + static_cast<int>(random() & 1);
  std::vector<Tensor> inputs;
  std::vector<Tensor> weights;
  for (size_t i = 0; i < made.inputs.size(); ++i) {
    const Tensor input = guarded_copy(made.inputs[i], at_end);
    const bool weight = workload->values[static_cast<size_t>(workload->inputs[i])].weight;
    weights.push_back(weight ? input : Tensor{});
    inputs.push_back(weight ? Tensor{} : input);
  }
  std::vector<Tensor> outputs;
  for (const int id : workload->outputs) {
    outputs.push_back(guarded_tensor(workload->values[static_cast<size_t>(id)].type, at_end));
  }
  const Kernel kernel(workload, policy, device, weights);
  kernel.run_into(inputs, outputs, threads);
  if (kernel.fallbacks() != 0) return "an index that is in range was taken for one that is not";
  const std::vector<Tensor> expected = Evaluator(workload).run(made.inputs, 1);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (auto wrong = difference(outputs[i], expected[i], made.tolerances[i])) {
      return fmt::format("output {}, {} threads, {}: {}", i, threads,
                         at_end ? "flush with the end" : "flush with the beginning", *wrong);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> failure_of_pair(uint64_t seed, Announce announce) {
  std::string text = fmt::format("seed {}\n", seed);
  if (announce != nullptr) announce(seed, text);
  try {
    Random random(seed ^ 0x9e3779b97f4a7c15);
    const RandomWorkload made = random_workload(seed);
    const auto wrong = failure(made, seed, random, text, announce);
    if (!wrong) return std::nullopt;
    return fmt::format("{}{}\n", text, *wrong);
  } catch (const Error& error) {
    return fmt::format("{}error: {}\n", text, error.what());
  }
}

}  // namespace aoe
