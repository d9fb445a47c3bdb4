#include "bank/tuned.h"

#include "base/error.h"

namespace aoe {

void check_counts(const TunedCounts& counts, const TunedTally& tally) {
  const auto& [workloads, failed, in_bank, stored] = tally;
  const auto is = [](int count, size_t number) { return static_cast<size_t>(count) == number; };
  require(is(counts.total(), workloads - failed),
          "internal error: {} of {} workloads are counted, and {} failed", counts.total(),
          workloads, failed);
  require(is(counts.hit(), in_bank), "internal error: {} hits are counted, the bank had {}",
          counts.hit(), in_bank);
  require(is(counts.add + counts.update, stored),
          "internal error: {} policies are counted as new, {} were stored",
          counts.add + counts.update, stored);
}

}  // namespace aoe
