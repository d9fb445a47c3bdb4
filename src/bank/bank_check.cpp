#include <fmt/format.h>

#include <set>
#include <tuple>

#include "bank/bank.h"
#include "base/error.h"
#include "expr/parse.h"
#include "plan/plan.h"
#include "plan/task_times.h"
#include "policy/policy_text.h"

namespace aoe {
namespace {

// The first problem with the texts of an entry; empty if there is none.
std::string fault_of(const BankEntry& entry) {
  bool has_hidden_contents = false;
  try {
    if (entry.kind() == EntryKind::layouts) parse_task_times(entry.policy);
    if (entry.kind() == EntryKind::layouts || names_graph(entry.workload)) return "";
    const Workload workload = parse_workload(entry.workload, [&](uint64_t hash) -> Tensor {
      has_hidden_contents = true;
      fail("the contents of {:016x} are not known", hash);
    });
    if (entry.kind() == EntryKind::policy) parse_policy(entry.policy, workload);
  } catch (const Error& error) {
    // Only the model has these contents; without them the texts cannot be checked further.
    return has_hidden_contents ? "" : error.what();
  }
  return "";
}

}  // namespace

std::vector<std::string> problems_of(const Bank& bank) {
  std::vector<std::string> problems;
  const std::string place = fmt::format("bank '{}'", bank.file().string());
  Statement check = bank.database_->prepare("PRAGMA integrity_check");
  while (check.step()) {
    if (check.text(0) != "ok") problems.push_back(fmt::format("{}: {}", place, check.text(0)));
  }
  if (!problems.empty()) return problems;
  std::set<std::tuple<std::string, std::string, int, Numerics>> seen;
  bank.for_each([&](const StoredEntry& stored) {
    const BankEntry& entry = stored.entry;
    if (stored.state == StoredEntry::State::damaged) problems.push_back(stored.problem);
    if (!stored.is_good()) return;
    const auto note = [&](std::string_view what) {
      problems.push_back(fmt::format("{}, entry {} (workload {}): {}", place, stored.id,
                                     key_text(entry.workload), what));
    };
    if (const std::string fault = fault_of(entry); !fault.empty()) note(fault);
    const auto& [soc_version, instruction_set, threads] = entry.target;
    if (!seen.emplace(entry.workload, instruction_set, threads, entry.allowed).second) {
      note("there is another entry for the same workload, target and class of algorithms");
    }
  });
  return problems;
}

}  // namespace aoe
