#include "bank/bank_writer.h"

#include "base/error.h"

namespace aoe {

BankWriter::BankWriter(Bank& bank) : bank_(bank), transaction_(*bank.database_) {
  if (schema_of(*bank.database_) == kFirstSchema) migrate(*bank.database_, bank.soc_version_);
  by_key_.emplace(bank.query("WHERE key = ? ORDER BY id"));
  insert_.emplace(insertion(*bank.database_));
  replace_.emplace(replacement(*bank.database_));
  remove_.emplace(bank.database_->prepare("DELETE FROM policies WHERE id = ?"));
}

std::vector<StoredEntry> BankWriter::stored(const EntryKey& key) {
  std::vector<StoredEntry> found;
  by_key_->parameters().bind(key_text(key.workload));
  while (by_key_->step()) {
    StoredEntry one = by_key_->entry();
    if (one.is_good() && key_of(one.entry) == key) found.push_back(std::move(one));
  }
  return found;
}

void BankWriter::write(const BankEntry& entry, const std::vector<StoredEntry>& instead_of) {
  require(entry.target.soc_version == bank_.soc_version_, "bank '{}' is for {}, the entry for {}",
          bank_.file().string(), bank_.soc_version_, entry.target.soc_version);
  for (size_t i = 1; i < instead_of.size(); ++i) remove_row(instead_of[i].id);
  Statement& statement = instead_of.empty() ? *insert_ : *replace_;
  bind_entry(statement, entry);
  if (!instead_of.empty()) statement.bind(instead_of[0].id);
  statement.run();
}

Joined BankWriter::join(const BankEntry& entry) {
  const std::vector<StoredEntry> found = stored(key_of(entry));
  BankEntry joined = entry;
  for (const StoredEntry& one : found) joined = aoe::join(one.entry, joined);
  if (found.size() == 1 && found[0].entry == joined) return Joined::kept;
  write(joined, found);
  return found.empty() ? Joined::added : Joined::updated;
}

void BankWriter::replace(const BankEntry& entry) {
  const std::vector<StoredEntry> found = stored(key_of(entry));
  BankEntry united = entry;
  for (const StoredEntry& one : found) unite_sets(united, one.entry);
  write(united, found);
}

void BankWriter::remove_row(int64_t id) {
  remove_->bind(id);
  remove_->run();
}

bool BankWriter::remove(const StoredEntry& entry) {
  EntryQuery by_id = bank_.query("WHERE id = ?");
  by_id.parameters().bind(entry.id);
  bool is_same = false;
  if (by_id.step()) {
    const BankEntry now = by_id.entry().entry;
    // A migration changes how a damaged row reads.
    is_same = entry.is_good()
                  ? now == entry.entry
                  : now.workload == entry.entry.workload && now.policy == entry.entry.policy;
  }
  by_id.parameters();  // resets it
  if (is_same) remove_row(entry.id);
  return is_same;
}

}  // namespace aoe
