// Opens arbitrary bytes as a bank, and does with it what loading a model and `aoe bank` do. An
// Error is an expected result.
//
// Mutating bytes reaches SQLite and little else: the checksums of entries do not fit any more. So
// most mutations change the text of an entry and store it as the product does.

#include <optional>

#include "bank/bank.h"
#include "base/error.h"
#include "base/notice.h"
#include "base/tensor.h"
#include "expr/parse.h"
#include "fuzz/scratch_file.h"
#include "fuzz/text_mutation.h"
#include "plan/task_times.h"
#include "policy/policy_text.h"
#include "policy/validate.h"

namespace {

const aoe::ScratchFile& scratch() {
  static const aoe::ScratchFile file;
  return file;
}

// What loading does with the policy of an entry before it generates code.
void use(const aoe::BankEntry& entry) {
  try {
    if (entry.is_of_graph()) {
      aoe::parse_task_times(entry.policy);
      return;
    }
    const aoe::Workload workload = aoe::parse_workload(entry.workload);
    aoe::validate(aoe::parse_policy(entry.policy, workload), workload, aoe::Device{});
  } catch (const aoe::Error&) {
  }
}

// Writes a bank with one entry changed; false if the file is not a bank with an entry.
bool change_entry(unsigned seed) {
  const std::optional<aoe::Bank> bank = aoe::Bank::for_reading(scratch().path());
  if (!bank) return false;
  const std::vector<aoe::StoredEntry> entries = bank->entries();
  if (entries.empty()) return false;
  const aoe::StoredEntry& stored = entries[seed / 16 % entries.size()];
  if (stored.state != aoe::StoredEntry::State::good) return false;
  aoe::BankEntry entry = stored.entry;
  std::string* const texts[] = {&entry.workload, &entry.policy, &entry.policy,
                                &entry.date,     &entry.effort, &entry.processor};
  std::string& text = *texts[seed / 4 % std::size(texts)];
  text = aoe::mutated(text);
  aoe::Bank::for_writing(scratch().path(), bank->soc_version()).put(entry, stored.entry.policy);
  return true;
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  aoe::set_log_level(aoe::LogLevel::null);
  if (seed % 4 == 0) return LLVMFuzzerMutate(data, size, max_size);
  scratch().write(data, size);
  try {
    if (change_entry(seed)) return aoe::placed(scratch().read(), data, size, max_size);
  } catch (const aoe::Error&) {
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  aoe::set_log_level(aoe::LogLevel::null);
  // Small, so that a shape in the input cannot make one case slow.
  aoe::set_tensor_limit(int64_t{16} << 20);
  scratch().write(data, size);
  try {
    const std::optional<aoe::Bank> bank = aoe::Bank::for_reading(scratch().path());
    if (!bank) return 0;
    for (const aoe::StoredEntry& stored : bank->entries()) {
      const auto found = bank->find({stored.entry.workload}, stored.entry.target);
      if (found[0].entry) use(*found[0].entry);
    }
    aoe::problems_of(*bank);
  } catch (const aoe::Error&) {
  }
  return 0;
}
