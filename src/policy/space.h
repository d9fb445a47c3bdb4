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

// One decision of a policy: what it is about, its options in words, and which of them is taken.
struct Decision {
  std::string name;  // "item 1: tile rows"
  std::vector<std::string> options;
  size_t chosen = 0;
  bool structural = false;  // about a stage, not about an item
  double weight = 1;        // of an item's: its part of the work, but not less than a little
};

// What may vary for a workload on a device: the policies that search goes through. Every policy it
// gives is valid. Decisions come in one order; the options of each are those that the ones before
// it leave. Not for several threads at once.
class Space {
 public:
  Space(std::shared_ptr<const Workload> workload, const Device& device);

  const Policy& default_policy() const { return default_; }
  Policy sample(Random& random) const;
  // The defaults of structures that differ from the default one's in one decision.
  std::vector<Policy> other_structures() const;

  // The policy as its chain of decisions, for tree search.
  std::vector<Decision> decisions(const Policy& policy) const;
  // The policy with one decision taken anew. Those after it stay where they still can, and are the
  // nearest that can be otherwise.
  Policy with(const Policy& policy, size_t decision, size_t option) const;

  // Takes one of `count` options; `wanted` is the one closest to the policy it starts from.
  using Chooser = std::function<size_t(size_t decision, size_t count, size_t wanted)>;
  // The policy that a chooser makes, decision by decision, starting from another one.
  Policy chosen(const Policy& from, const Chooser& choose) const {
    return chain(from, choose, nullptr);
  }

  // Every policy that differs in one decision (and what must follow from it).
  std::vector<Policy> neighbours(const Policy& policy) const;
  // One decision changed at random, more likely one about what takes most of the work.
  Policy mutate(const Policy& policy, Random& random) const;
  // Each decision from the one or the other.
  Policy crossover(const Policy& a, const Policy& b, Random& random) const;

  // What comes closest to a policy of the same operator with other shapes; nothing if the two are
  // not taken apart alike.
  std::optional<Policy> adapted(const Policy& policy, const Workload& of) const;

  // Roughly how many policies there are, counted along the default's decisions.
  double size() const;

  // Good until many other structures have been asked for.
  const Schedule& schedule(const Structure& structure) const;
  const Workload& workload() const { return *workload_; }
  const Device& device() const { return device_; }
  // Whether a stage may run as products of matrices: the workload is a cube operator then, and a
  // vector operator else.
  bool has_products() const;

 private:
  class Chain;

  Policy chain(const Policy& from, const Chooser& choose, std::vector<Decision>* seen) const;

  std::shared_ptr<const Workload> workload_;
  Device device_;
  std::vector<Schedule::Transforms>
      applicable_;  // by the default structure: what a stage can be kept from
  Policy default_;
  // Schedules by their structure; there are few, and making one costs a millisecond.
  mutable std::vector<std::pair<Structure, std::unique_ptr<Schedule>>> schedules_;
};

}  // namespace aoe
