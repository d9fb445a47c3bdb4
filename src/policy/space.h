#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "device/device.h"
#include "policy/schedule.h"

namespace aoe {

using Random = std::mt19937_64;

// One decision of a policy: its name, its options as text, and the index of the chosen one.
struct Decision {
  std::string name;  // "item 1: tile rows"
  std::vector<std::string> options;
  size_t chosen = 0;
  bool structural = false;  // about a stage, not about an item
  double weight = 1;        // of an item: its share of the work, but at least kLeastWeight
};

// A Space is the set of valid policies of a workload on a device, as a chain of decisions: each has
// the options that the decisions before it leave. Every policy that it returns is valid. Not
// thread-safe, even where const: schedules are cached.
class Space {
 public:
  Space(std::shared_ptr<const Workload> workload, const Device& device);

  const Policy& default_policy() const { return default_; }
  Policy sample(Random& random) const;
  // For each structure that differs from the default structure in one decision: its default policy.
  std::vector<Policy> other_structures() const;

  // The policy as a chain of decisions, for tree search.
  std::vector<Decision> decisions(const Policy& policy) const;
  // The policy with another option for one decision. Later decisions keep their option if it is
  // still there, and get the nearest one otherwise.
  Policy with(const Policy& policy, size_t decision, size_t option) const;

  // Returns one of `count` options; `wanted` is the one closest to the policy that it starts from.
  using Chooser = std::function<size_t(size_t decision, size_t count, size_t wanted)>;
  // The policy that results from a chooser, decision by decision, starting from the policy `from`.
  Policy chosen(const Policy& from, const Chooser& choose) const {
    return chain(from, choose, nullptr);
  }

  // All policies that differ in one decision (and in later ones that it rules out).
  std::vector<Policy> neighbours(const Policy& policy) const;
  // The policy with one decision changed at random, chosen with probability proportional to its
  // weight.
  Policy mutate(const Policy& policy, Random& random) const;
  // A random mix of the decisions of both; one of the two if their structures differ.
  Policy crossover(const Policy& a, const Policy& b, Random& random) const;

  // The policy of this space closest to a policy of the workload `of`, the same operator with other
  // shapes; nothing if the two schedules have different items.
  std::optional<Policy> adapted(const Policy& policy, const Workload& of) const;

  // Approximate number of policies: the product of the number of options of the default's
  // decisions.
  double size() const;

  // The schedule of a structure. The reference is valid until kKeptSchedules others were requested.
  const Schedule& schedule(const Structure& structure) const;
  const Workload& workload() const { return *workload_; }
  const Device& device() const { return device_; }
  // Whether a stage may run as matrix products: then the workload is a cube operator, otherwise a
  // vector operator.
  bool has_products() const;

 private:
  class Chain;

  Policy chain(const Policy& from, const Chooser& choose, std::vector<Decision>* seen) const;

  std::shared_ptr<const Workload> workload_;
  Device device_;
  std::vector<Schedule::Transforms>
      applicable_;  // under Structure{}: decides which structural decisions there are
  Policy default_;
  // Cache of schedules by structure.
  mutable std::vector<std::pair<Structure, std::unique_ptr<Schedule>>> schedules_;
};

}  // namespace aoe
