#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/kernel.h"
#include "bank/bank.h"
#include "bank/places.h"
#include "plan/task_times.h"

namespace aoe {

// Returns the target that policies are looked up for: the device's name and widest vectors, and the
// number of threads.
Target target_of(const Device& device, int threads);

// Number of distinct workloads of a model, and the sources of their policies.
struct PolicyCounts {
  int workloads = 0;
  int from_bank = 0;
  int from_model = 0;                            // from the file that the model was loaded from
  std::map<std::filesystem::path, int> by_bank;  // those from banks, by bank
};

// StoredPolicies finds the policies of workloads, first in the machine's banks, then in the file of
// a model; other workloads have the default policy. Neither source is trusted: a policy that is not
// valid for its workload on this machine is reported once and not used, and a problem with a bank
// is reported once and never fails a load. Any thread may call it.
class StoredPolicies {
 public:
  // `of_model`: policies and task times in the model's file, by the key of the workload or graph.
  // `graph_times`: task times by graph (graph_text), which take precedence over all others.
  StoredPolicies(const BankPlaces& banks, Target target, std::map<uint64_t, std::string> of_model,
                 std::map<std::string, std::string> graph_times = {});

  // Looks up many workloads with one query, before their kernels are asked for.
  void look_up(const std::vector<const Workload*>& workloads) const;

  // Returns the measured times of a graph's tasks, if they are stored anywhere.
  std::optional<TaskTimes> task_times(const std::string& graph) const;
  // The texts of the task times found so far, by graph.
  std::map<std::string, std::string> task_times_found() const;

  // Returns a kernel with the stored policy of the workload, or with the default policy.
  std::shared_ptr<const Kernel> kernel(const std::shared_ptr<const Workload>& workload,
                                       const Backend& backend, std::vector<Tensor> weights) const;

  PolicyCounts counts() const;
  const Target& target() const { return target_; }
  // The files of the banks that exist, in the order of their lookup.
  const std::vector<std::filesystem::path>& banks() const { return banks_; }
  bool has_banks() const { return !banks_.empty() || !graph_banks_.empty(); }

 private:
  // A policy or task times, as text, and the bank that has it; null: the model's file.
  struct Stored {
    std::string text;
    const std::filesystem::path* bank = nullptr;
  };

  std::shared_ptr<const Kernel> kernel_by(const Stored& stored,
                                          const std::shared_ptr<const Workload>& workload,
                                          const Backend& backend,
                                          const std::vector<Tensor>& weights) const;
  void look_up_in_banks(const std::vector<const Workload*>& workloads) const;
  void look_up_texts(std::vector<std::string> texts, Numerics allowed,
                     const std::vector<std::filesystem::path>& banks) const;
  // What the banks have for a text, in the order of preference.
  std::vector<Stored> in_banks(const std::string& text, Numerics allowed,
                               const std::vector<std::filesystem::path>& banks) const;
  void warn(const std::string& line) const;
  // Reports policies that need a class of algorithms that is not allowed, by both classes.
  using Unused = std::map<std::pair<Numerics, Numerics>, int64_t>;
  void warn_unused(const Unused& counts, const char* source) const;

  std::vector<std::filesystem::path> banks_, graph_banks_;  // those that exist
  Target target_;
  std::map<uint64_t, std::string> of_model_;
  std::map<std::string, std::string> graph_times_;
  mutable std::mutex reading_;  // held while banks are read, so that others wait for the result
  mutable std::set<std::filesystem::path> failed_;  // banks whose lock was waited for in vain
  mutable std::mutex mutex_;                        // protects the members below
  // What the banks have, by the text of the workload or graph.
  mutable std::map<std::pair<std::string, Numerics>, std::vector<Stored>> found_;
  // Of the kernels made so far, by the key of the workload; null: the default policy.
  mutable std::map<uint64_t, std::optional<Stored>> origins_;
  mutable std::map<std::string, std::string> task_times_found_;
  mutable std::set<std::string> warned_;
};

}  // namespace aoe
