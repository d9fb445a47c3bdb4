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

void warn_of_missing_folders(const BankPlaces& places) {
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
  warn_of_missing_folders(banks);
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
    if (!from_bank(to_string(*workload), workload->numerics, banks_)) {
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
    if (found_.emplace(std::pair(text, allowed), std::nullopt).second) {
      missing.push_back(std::move(text));
    }
  }
  Unused unused;
  for (const fs::path& file : banks) {
    if (missing.empty()) break;
    // Closed again after each lookup: the process may fork, and must not do so with an open bank.
    std::vector<LookupResult> found;
    try {
      const std::optional<Bank> bank = Bank::for_reading(file);
      if (!bank) continue;
      require(bank->soc_version() == target_.soc_version, "bank '{}' is for {}, this is {}",
              file.string(), bank->soc_version(), target_.soc_version);
      found = bank->find(missing, target_, allowed);
    } catch (const Error& error) {
      warn(fmt::format("{}: it is not used", error.what()));
      continue;
    }
    std::vector<std::string> still_missing;
    for (size_t i = 0; i < missing.size(); ++i) {
      for (const std::string& problem : found[i].problems) warn(problem + ": it is not used");
      if (found[i].not_allowed) ++unused[{*found[i].not_allowed, allowed}];
      if (found[i].entry) {
        const std::lock_guard lock(mutex_);
        found_[{missing[i], allowed}] = found[i].entry->policy;
      } else {
        still_missing.push_back(missing[i]);
      }
    }
    missing = std::move(still_missing);
  }
  warn_unused(unused, "the bank");
}

std::optional<std::string> StoredPolicies::from_bank(const std::string& text, Numerics allowed,
                                                     const std::vector<fs::path>& banks) const {
  if (banks.empty()) return std::nullopt;
  look_up_texts({text}, allowed, banks);
  const std::lock_guard lock(mutex_);
  return found_[{text, allowed}];
}

std::optional<TaskTimes> StoredPolicies::task_times(const std::string& graph) const {
  std::vector<std::string> texts;
  if (const auto given = graph_times_.find(graph); given != graph_times_.end()) {
    texts.push_back(given->second);
  }
  if (const auto text = from_bank(graph, Numerics::strassen, graph_banks_)) texts.push_back(*text);
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
  const std::string of = to_string(*workload);
  // An invalid policy does not hide a valid one of a smaller class.
  std::optional<Numerics> allowed = workload->numerics;
  while (allowed) {
    const auto text = from_bank(of, *allowed, banks_);
    if (!text) break;
    if (auto kernel = kernel_by(*text, Origin::bank, workload, backend, weights)) return kernel;
    allowed = below(numerics_of(*text));
  }
  if (const auto with_model = of_model_.find(key_of(*workload)); with_model != of_model_.end()) {
    if (auto kernel = kernel_by(with_model->second, Origin::model, workload, backend, weights)) {
      return kernel;
    }
  }
  {
    const std::lock_guard lock(mutex_);
    origins_[key_of(*workload)] = Origin::none;
  }
  return std::make_shared<const Kernel>(workload, backend, target_.threads, std::move(weights));
}

// Returns null, with a warning, if the text is not a valid policy.
std::shared_ptr<const Kernel> StoredPolicies::kernel_by(
    const std::string& text, Origin origin, const std::shared_ptr<const Workload>& workload,
    const Backend& backend, const std::vector<Tensor>& weights) const {
  const uint64_t key = key_of(*workload);
  if (numerics_of(text) > workload->numerics) return nullptr;  // of a class that is not allowed
  try {
    auto kernel = std::make_shared<const Kernel>(workload, parse_policy(text, *workload), backend,
                                                 target_.threads, weights);
    const std::lock_guard lock(mutex_);
    origins_[key] = origin;
    return kernel;
  } catch (const Error& error) {
    warn(origin == Origin::bank
             ? fmt::format("workload {:016x}: the bank's policy is not valid, and not used: {}",
                           key, error.what())
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
    counts.from_bank += origin == Origin::bank ? 1 : 0;
    counts.from_model += origin == Origin::model ? 1 : 0;
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
