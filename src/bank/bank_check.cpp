#include <fmt/format.h>

#include <set>
#include <tuple>

#include "bank/bank.h"
#include "bank/schema.h"
#include "bank/transfer_seeds.h"
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
  if (bank.database_->integer("SELECT count(*) FROM bank") != 1) {
    problems.push_back(fmt::format("{}: its table 'bank' has not one row", place));
  }
  const bool has_families = schema_of(*bank.database_) > kFirstSchema;
  Statement columns = bank.database_->prepare(
      has_families ? "SELECT family, numerics, typeof(threads) FROM policies WHERE id = ?"
                   : "SELECT '', '', typeof(threads) FROM policies WHERE id = ?");
  // Columns by which entries are found, and which their texts imply.
  const auto fit = [&](const StoredEntry& stored) {
    columns.bind(stored.id);
    const bool fits = columns.step() && columns.text(2) == "integer" &&
                      (!has_families || (columns.text(0) == family_of(stored.entry.workload) &&
                                         columns.text(1) == name(stored.entry.numerics())));
    columns.reset();
    return fits;
  };
  std::set<std::tuple<std::string, std::string, int, Numerics>> seen;
  bank.for_each([&](const StoredEntry& stored) {
    const BankEntry& entry = stored.entry;
    if (stored.state == StoredEntry::State::damaged) problems.push_back(stored.problem);
    if (!stored.is_good()) return;
    const auto note = [&](std::string_view what) {
      problems.push_back(fmt::format("{}, entry {} (workload {}): {}", place, stored.id,
                                     key_text(entry.workload), what));
    };
    if (!fit(stored)) note("its family, numerics or threads do not fit its texts");
    if (const std::string fault = fault_of(entry); !fault.empty()) note(fault);
    const auto& [soc_version, instruction_set, threads] = entry.target;
    if (!seen.emplace(entry.workload, instruction_set, threads, entry.allowed).second) {
      note("there is another entry for the same workload, target and class of algorithms");
    }
  });
  return problems;
}

}  // namespace aoe
