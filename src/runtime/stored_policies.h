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

// What policies are looked up for: a machine's widest vectors, and so many threads.
Target target_of(const Device& device, int threads);

// Where the policies of a model's workloads have come from; each distinct workload counts once.
struct PolicyCounts {
  int workloads = 0;
  int from_bank = 0;
  int from_model = 0;  // with the file that the model was loaded from
};

// Policies from the machine's banks and from the file of a model, in this order; what none of them
// has is the default's. They may say anything: one that is not valid for its workload on the
// machine at hand is told of once and not used. Banks may be anything too: what is wrong with one
// is told of once, and none of them ever fails a load. Any thread may call it.
class StoredPolicies {
 public:
  // `graph_times`: of tasks, by graph (graph_text), before what banks and the model's file have.
  StoredPolicies(const BankPlaces& banks, Target target, std::map<uint64_t, std::string> of_model,
                 std::map<std::string, std::string> graph_times = {});

  // Looks many workloads up in one reading, ahead of asking for their kernels.
  void look_up(const std::vector<const Workload*>& workloads) const;

  // What the tasks of a graph were measured to take, if anybody knows.
  std::optional<TaskTimes> task_times(const std::string& graph) const;
  // The texts of those that were found, by graph.
  std::map<std::string, std::string> task_times_found() const;

  // A kernel by the policy for the workload, or by the default one.
  std::shared_ptr<const Kernel> kernel(std::shared_ptr<const Workload> workload,
                                       const Backend& backend, std::vector<Tensor> weights) const;

  PolicyCounts counts() const;
  const Target& target() const { return target_; }
  // The files of the banks that are there.
  const std::vector<std::filesystem::path>& banks() const { return banks_; }

 private:
  enum class Origin : uint8_t { bank, model, none };

  std::shared_ptr<const Kernel> kernel_by(const std::string& text, Origin origin,
                                          const std::shared_ptr<const Workload>& workload,
                                          const Backend& backend,
                                          const std::vector<Tensor>& weights) const;
  void look_up_texts(std::vector<std::string> texts) const;
  std::optional<std::string> from_bank(const std::string& text) const;
  void warn(const std::string& line) const;

  std::vector<std::filesystem::path> banks_;  // those that are there
  Target target_;
  std::map<uint64_t, std::string> of_model_;
  std::map<std::string, std::string> graph_times_;
  mutable std::mutex
      reading_;               // held while banks are read: whoever comes meanwhile needs the result
  mutable std::mutex mutex_;  // of what is below
  // What banks have, by the text of the workload or graph; nothing where they have none.
  mutable std::map<std::string, std::optional<std::string>> found_;
  mutable std::map<uint64_t, Origin> origins_;  // of the kernels made so far
  mutable std::map<std::string, std::string> task_times_found_;
  mutable std::set<std::string> warned_;
};

}  // namespace aoe
