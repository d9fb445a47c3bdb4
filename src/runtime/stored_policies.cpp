#include "runtime/stored_policies.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/notice.h"
#include "policy/policy_text.h"

namespace aoe {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> existing(std::vector<fs::path> files) {
  std::erase_if(files, [](const fs::path& file) {
    std::error_code error;
    return !fs::exists(file, error);
  });
  return files;
}

void warn_of_settings(const BankPlaces& places) {
  if (!places.problem.empty()) notice(places.problem);
  if (places.variable != "TUNE_BANK_PATH") return;
  for (const fs::path& root : places.roots) {
    std::error_code error;
    if (fs::is_directory(root, error)) continue;
    notice(fmt::format("TUNE_BANK_PATH is '{}', which is not a folder: no bank in it is used",
                       root.string()));
  }
}

}  // namespace

Target target_of(const Device& device, int threads) {
  return {device.soc_version(), std::string(device.widest_vectors()), threads};
}

StoredPolicies::StoredPolicies(const BankPlaces& banks, Target target,
                               std::map<uint64_t, std::string> of_model,
                               std::map<std::string, std::string> graph_times)
    : banks_(existing(banks.read(BankKind::operators))),
      graph_banks_(existing(banks.read(BankKind::graphs))),
      target_(std::move(target)),
      of_model_(std::move(of_model)),
      graph_times_(std::move(graph_times)) {
  warn_of_settings(banks);
}

void StoredPolicies::look_up(const std::vector<const Workload*>& workloads) const {
  std::map<uint64_t, const Workload*> of_model;  // workloads whose policy is in the model's file
  for (const Workload* workload : workloads) {
    if (of_model_.contains(key_of(*workload))) of_model.emplace(key_of(*workload), workload);
  }
  look_up_in_banks(workloads);
  Unused unused;
  for (const auto& [key, workload] : of_model) {
    const Numerics needed = numerics_of(of_model_.at(key));
    if (needed <= workload->numerics) continue;
    // The bank's policies take precedence over those of the file.
    if (in_banks(to_string(*workload), workload->numerics, banks_).empty()) {
      ++unused[{needed, workload->numerics}];
    }
  }
  warn_unused(unused, "the .om file");
}

void StoredPolicies::look_up_in_banks(const std::vector<const Workload*>& workloads) const {
  if (banks_.empty()) return;
  std::map<Numerics, std::vector<std::string>> texts;
  for (const Workload* workload : workloads) {
    texts[workload->numerics].push_back(to_string(*workload));
  }
  for (auto& [allowed, of_class] : texts) look_up_texts(std::move(of_class), allowed, banks_);
}

void StoredPolicies::look_up_texts(std::vector<std::string> texts, Numerics allowed,
                                   const std::vector<fs::path>& banks) const {
  const std::lock_guard reading(reading_);
  std::vector<std::string> missing;
  for (std::string& text : texts) {
    const std::lock_guard lock(mutex_);
    if (found_.try_emplace({text, allowed}).second) missing.push_back(std::move(text));
  }
  std::map<std::string, Numerics> not_allowed;  // by text: the largest class of any bank
  if (missing.empty()) return;
  for (const fs::path& file : banks) {
    // Closed again after each lookup: the process may fork, and must not do so with an open bank.
    std::vector<LookupResult> found;
    try {
      const std::optional<Bank> bank = Bank::for_reading(file, !failed_.contains(file));
      if (!bank) continue;
      require(bank->soc_version() == target_.soc_version, "bank '{}' is for {}, this is {}",
              file.string(), bank->soc_version(), target_.soc_version);
      found = bank->find(missing, target_, allowed);
    } catch (const Error& error) {
      warn(fmt::format("{}: it is not used", error.what()));
      failed_.insert(file);
      continue;
    }
    for (size_t i = 0; i < missing.size(); ++i) {
      for (const std::string& problem : found[i].problems) warn(problem + ": it is not used");
      if (const auto needed = found[i].not_allowed) {
        Numerics& most = not_allowed.try_emplace(missing[i], *needed).first->second;
        most = std::max(most, *needed);
      }
      const std::lock_guard lock(mutex_);
      std::vector<Stored>& stored = found_[{missing[i], allowed}];
      if (found[i].entry) stored.push_back({found[i].entry->policy, &file});
      for (const BankEntry& other : found[i].others) stored.push_back({other.policy, &file});
    }
  }
  Unused unused;
  for (const auto& [text, needed] : not_allowed) {
    const std::lock_guard lock(mutex_);
    if (found_[{text, allowed}].empty()) ++unused[{needed, allowed}];
  }
  warn_unused(unused, "the bank");
}

std::vector<StoredPolicies::Stored> StoredPolicies::in_banks(
    const std::string& text, Numerics allowed, const std::vector<fs::path>& banks) const {
  if (banks.empty()) return {};
  look_up_texts({text}, allowed, banks);
  const std::lock_guard lock(mutex_);
  return found_[{text, allowed}];
}

std::optional<TaskTimes> StoredPolicies::task_times(const std::string& graph) const {
  std::vector<std::string> texts;
  if (const auto given = graph_times_.find(graph); given != graph_times_.end()) {
    texts.push_back(given->second);
  }
  for (const Stored& stored : in_banks(graph, Numerics::strassen, graph_banks_)) {
    texts.push_back(stored.text);
  }
  if (const auto with_model = of_model_.find(stable_hash(graph)); with_model != of_model_.end()) {
    texts.push_back(with_model->second);
  }
  for (const std::string& text : texts) {
    try {
      TaskTimes times = parse_task_times(text);
      const std::lock_guard lock(mutex_);
      task_times_found_[graph] = text;
      return times;
    } catch (const Error& error) {
      warn(
          fmt::format("{}: its stored task times cannot be parsed and are not used: "
                      "{}",
                      graph, error.what()));
    }
  }
  return std::nullopt;
}

std::map<std::string, std::string> StoredPolicies::task_times_found() const {
  const std::lock_guard lock(mutex_);
  return task_times_found_;
}

std::shared_ptr<const Kernel> StoredPolicies::kernel(
    const std::shared_ptr<const Workload>& workload, const Backend& backend,
    std::vector<Tensor> weights) const {
  // An invalid policy does not hide valid ones.
  std::vector<Stored> known = in_banks(to_string(*workload), workload->numerics, banks_);
  if (const auto with_model = of_model_.find(key_of(*workload)); with_model != of_model_.end()) {
    known.push_back({with_model->second});
  }
  for (const Stored& stored : known) {
    if (auto kernel = kernel_by(stored, workload, backend, weights)) return kernel;
  }
  {
    const std::lock_guard lock(mutex_);
    origins_[key_of(*workload)] = std::nullopt;
  }
  return std::make_shared<const Kernel>(workload, backend, target_.threads, std::move(weights));
}

// Returns null, with a warning, if the text is not a valid policy.
std::shared_ptr<const Kernel> StoredPolicies::kernel_by(
    const Stored& stored, const std::shared_ptr<const Workload>& workload, const Backend& backend,
    const std::vector<Tensor>& weights) const {
  const uint64_t key = key_of(*workload);
  // Of a class that is not allowed.
  if (numerics_of(stored.text) > workload->numerics) return nullptr;
  try {
    auto kernel = std::make_shared<const Kernel>(workload, parse_policy(stored.text, *workload),
                                                 backend, target_.threads, weights);
    const std::lock_guard lock(mutex_);
    origins_[key] = stored;
    return kernel;
  } catch (const Error& error) {
    warn(stored.bank != nullptr
             ? fmt::format("workload {:016x}: the policy of bank '{}' is not valid, and not used: "
                           "{}",
                           key, stored.bank->string(), error.what())
             : fmt::format("workload {:016x} runs by the default policy, since the one in the "
                           "model's file is not valid: {}",
                           key, error.what()));
    return nullptr;
  }
}

PolicyCounts StoredPolicies::counts() const {
  const std::lock_guard lock(mutex_);
  PolicyCounts counts{.workloads = static_cast<int>(origins_.size())};
  for (const auto& [key, origin] : origins_) {
    if (!origin) continue;
    if (origin->bank == nullptr) {
      ++counts.from_model;
      continue;
    }
    ++counts.from_bank;
    ++counts.by_bank[*origin->bank];
  }
  return counts;
}

void StoredPolicies::warn_unused(const Unused& counts, const char* source) const {
  for (const auto& [classes, count] : counts) {
    const auto& [needed, allowed] = classes;
    const bool one = count == 1;
    notice_once(
        fmt::format("{} {} of {} need{} {} algorithm and {} not used: {}", count,
                    one ? "policy" : "policies", source, one ? "s" : "",
                    needed == Numerics::strassen ? "Strassen's" : "Winograd's", one ? "is" : "are",
                    allowed == Numerics::direct ? "op_select_implmode=high_precision excludes it"
                                                : "--allow_strassen allows it"));
  }
}

void StoredPolicies::warn(const std::string& line) const {
  const std::lock_guard lock(mutex_);
  if (warned_.insert(line).second) notice(line);
}

}  // namespace aoe
