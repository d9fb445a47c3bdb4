#include "tests/cpp/random_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backend/kernel.h"
#include "base/error.h"
#include "expr/parse.h"
#include "measure/host/guarded_memory.h"
#include "measure/worker/numeric_check.h"
#include "policy/policy_text.h"
#include "policy/space.h"
#include "policy/streaming.h"
#include "policy/strips.h"
#include "policy/validate.h"
#include "tests/cpp/backends.h"
#include "tests/cpp/random_chains.h"
#include "tests/cpp/random_workloads.h"

namespace aoe {
namespace {

Device random_device(Random& random) {
  const auto sets = host_device().vector_features();
  return narrowed(host_device(), sets[random() % sets.size()]);
}

Policy random_policy(const Space& space, Random& random) {
  switch (random() % 4) {
    case 0: return space.default_policy();
    case 1: return space.sample(random);
    case 2: return space.crossover(space.sample(random), space.default_policy(), random);
    default: {
      Policy policy = space.default_policy();
      for (uint64_t i = random() % 4 + 1; i > 0; --i) policy = space.mutate(policy, random);
      return policy;
    }
  }
}

// Adds streaming stores at random: the space offers them only for results larger than any here.
void stream_some(Policy& policy, const Space& space, Random& random) {
  const Schedule& schedule = space.schedule(policy.structure);
  for (size_t i = 0; i < policy.items.size(); ++i) {
    if (auto* product = std::get_if<ProductPolicy>(&policy.items[i])) {
      product->streaming =
          random() % 4 == 0 && !std::get<ProductItem>(schedule.items[i]).shape.transformed;
      continue;
    }
    const Nest& nest = std::get<Nest>(schedule.items[i]);
    std::vector<LoopPolicy>& loops = std::get<NestPolicy>(policy.items[i]).loops;
    for (size_t k = 0; k < loops.size(); ++k) {
      loops[k].streaming = random() % 2 == 0 && may_stream(nest, nest.loops[k], loops[k]);
    }
  }
}

// Returns all valid ways to compute consecutive stages by strips that divide their axis.
std::vector<Strips> possible_strips(const Workload& workload) {
  std::vector<Strips> found;
  for (size_t last = 1; last < workload.stages.size(); ++last) {
    const Shape& axes = workload.stages[last].axes;
    for (size_t first = 0; first < last; ++first) {
      for (size_t axis = 0; axis < axes.size(); ++axis) {
        for (int64_t rows = 1; rows < axes[axis]; ++rows) {
          const Strips strips{first, last, static_cast<int>(axis), rows};
          if (axes[axis] % rows == 0 && split_into_strips(workload, strips))
            found.push_back(strips);
        }
      }
    }
  }
  return found;
}

// Adds a random valid loop over strips, if there is one.
Structure with_strips(Structure structure, const Space& space, Random& random) {
  std::vector<Strips> ways = possible_strips(space.workload());
  while (!ways.empty()) {
    const size_t which = random() % ways.size();
    Structure more = structure;
    more.strips.push_back(ways[which]);
    if (!fault_of(more, space.workload())) return more;
    ways.erase(ways.begin() + static_cast<int64_t>(which));
  }
  return structure;
}

Policy by_strips(const Policy& policy, const Space& space, Random& random) {
  Structure structure = with_strips(policy.structure, space, random);
  if (structure.strips.empty()) return policy;
  if (random() % 4 == 0) structure = with_strips(structure, space, random);
  Policy by = default_policy(space.schedule(structure), structure, space.device());
  for (uint64_t i = random() % 6; i > 0; --i) by = space.mutate(by, random);
  return by;
}

// Returns whether neighbouring strips compute overlapping parts of a value.
bool has_halo(const Policy& policy, const Space& space) {
  const Workload& strips = space.schedule(policy.structure).workload;
  for (size_t i = 0; i < space.workload().values.size(); ++i) {
    if (strips.values[i].type.count() > space.workload().values[i].type.count()) return true;
  }
  return false;
}

template <typename Pointer>
std::vector<Pointer> pointers(const std::vector<Tensor>& tensors) {
  std::vector<Pointer> to;
  for (const Tensor& tensor : tensors) to.push_back(const_cast<std::byte*>(tensor.raw()));
  return to;
}

// The magnitudes of the outputs, for mismatch_of. Where they are not known, intermediate values of
// random workloads have magnitudes around 1, and results may cancel to any size (the sum of a
// normalized row).
std::vector<Tensor> magnitudes_of(const RandomWorkload& made, const std::vector<Tensor>& expected) {
  std::vector<Tensor> magnitudes = Magnitudes(*made.workload).run(made.inputs, 1);
  for (size_t i = 0; i < magnitudes.size(); ++i) {
    if (!magnitudes[i].empty()) continue;
    double largest = 1;
    for (const double value : expected[i].to_doubles()) {
      if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
    }
    magnitudes[i] = Tensor(DType::f64, expected[i].shape());
    std::fill_n(magnitudes[i].data<double>(), magnitudes[i].count(), largest);
  }
  return magnitudes;
}

std::optional<std::string> failure(const RandomWorkload& made, uint64_t seed, Random& random,
                                   std::string& text, Announce announce, PairKind& kind) {
  const Device device = random_device(random);
  const std::string workload_text = to_string(*made.workload);
  text = fmt::format("seed {}, {}\n{}", seed, device.widest_vectors(), workload_text);
  const auto workload = std::make_shared<const Workload>(parse_workload(workload_text));
  const Space space(workload, device);
  Policy policy = random_policy(space, random);
  if (random() % 4 != 0) policy = by_strips(policy, space, random);
  kind.strips = !policy.structure.strips.empty();
  kind.halo = kind.strips && has_halo(policy, space);
  stream_some(policy, space, random);
  const std::string policy_text = to_string(policy, *workload);
  text += policy_text;
  if (announce != nullptr) announce(seed, text);
  if (const auto fault = validate(policy, *workload, device)) return "not valid: " + *fault;
  if (parse_policy(policy_text, *workload) != policy) return "the policy reads back as another";

  const bool at_end = (random() & 1) != 0;
  const auto against = at_end ? GuardedMemory::Against::back : GuardedMemory::Against::front;
  const int threads = 1 + static_cast<int>(random() & 1);
  std::vector<Tensor> inputs;
  std::vector<Tensor> weights;
  for (size_t i = 0; i < made.inputs.size(); ++i) {
    const Tensor input = guarded_copy(made.inputs[i], against, "an input");
    const bool weight = workload->values[static_cast<size_t>(workload->inputs[i])].weight;
    weights.push_back(weight ? input : Tensor{});
    inputs.push_back(weight ? Tensor{} : input);
  }
  std::vector<Tensor> outputs;
  for (const int id : workload->outputs) {
    outputs.push_back(
        guarded_tensor(workload->values[static_cast<size_t>(id)].type, against, "an output"));
  }
  const std::vector<Tensor> expected = Evaluator(workload).run(made.inputs, 1);
  std::vector<Tensor> magnitudes;
  for (const auto& [by, backend] : backends_for(device)) {
    const Kernel kernel(workload, policy, *backend, threads, weights);
    const auto work_bytes = static_cast<size_t>(kernel.work_bytes());
    const GuardedMemory work(work_bytes, static_cast<size_t>(kWorkAlignment), against,
                             "the work memory");
    // NaN, so that reads before the first write show.
    std::memset(work.elements(), 0xff, work_bytes);
    kernel.run_on(pointers<const void*>(inputs), pointers<void*>(outputs), work.elements());
    if (const auto stray = work.stray_write()) return fmt::format("{}: {} written", by, *stray);
    if (kernel.fallbacks() != 0) {
      return fmt::format("{}: a valid index was reported out of range", by);
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      const auto lazily = [&] {
        if (magnitudes.empty()) magnitudes = magnitudes_of(made, expected);
        return magnitudes[i];
      };
      if (auto wrong = mismatch_of(outputs[i], expected[i], made.tolerances[i], 0, lazily)) {
        return fmt::format("output {}, {}, {} threads, {}: {}", i, by, threads,
                           at_end ? "flush with the end" : "flush with the beginning",
                           wrong->detail);
      }
    }
    // Overwritten, so that elements that the next backend does not write show.
    for (Tensor& output : outputs)
      std::memset(output.raw(), 0x5a, static_cast<size_t>(output.bytes()));
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> failure_of_pair(uint64_t seed, Announce announce, PairKind* kind) {
  PairKind ignored;
  std::string text = fmt::format("seed {}\n", seed);
  if (announce != nullptr) announce(seed, text);
  try {
    Random random(seed ^ 0x9e3779b97f4a7c15);
    const RandomWorkload made = random() % 2 == 0 ? random_chain(seed) : random_workload(seed);
    const auto wrong =
        failure(made, seed, random, text, announce, kind != nullptr ? *kind : ignored);
    if (!wrong) return std::nullopt;
    return fmt::format("{}{}\n", text, *wrong);
  } catch (const Error& error) {
    return fmt::format("{}error: {}\n", text, error.what());
  }
}

}  // namespace aoe
