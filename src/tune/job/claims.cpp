#include "tune/job/claims.h"

#include "expr/parse.h"
#include "measure/statistics/proof.h"
#include "policy/policy_text.h"
#include "policy/schedule.h"
#include "tune/job/trials.h"

namespace aoe {
namespace {

// Number of blocks. More than the proof of a clear gain needs, because the interval is the result.
constexpr size_t kBlocks = 16;

std::string default_policy_of(const std::string& text, const Device& device) {
  const Workload workload = parse_workload(text);
  return to_string(default_policy(workload, device), workload);
}

}  // namespace

std::vector<Claim> measured_claims(Runner& runner, const OpenedModel& opened,
                                   const std::vector<LookupResult>& entries, const Device& device,
                                   const std::function<void(double)>& on_progress) {
  std::vector<Claim> claims;
  Request check;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!entries[i].entry) continue;
    const int workload = static_cast<int>(i);
    claims.push_back(
        {.workload = workload, .claimed = entries[i].entry->gain, .margin = opened.margin});
    check.compile.push_back({workload, default_policy_of(opened.workloads[i].text, device)});
  }
  if (claims.empty()) return claims;
  const Answer checked = runner.ask(check);
  std::vector<Candidate> defaults;
  std::vector<std::vector<size_t>> groups;
  std::vector<size_t> claim_of;
  for (size_t i = 0; i < claims.size(); ++i) {
    claims[i].failure = checked.compiled[i];
    if (claims[i].failure) continue;
    groups.push_back({defaults.size()});
    claim_of.push_back(i);
    defaults.push_back(check.compile[i]);
  }
  Random random(1);
  Proofs proofs(opened.workloads.size(), defaults, groups, false, block_pairs(opened),
                {.most_blocks = kBlocks, .to_the_end = true}, random);
  while (!proofs.over()) {
    proofs.add(runner.ask({{}, proofs.next()}).measured);
    on_progress(proofs.share());
  }
  for (size_t i = 0; i < claim_of.size(); ++i) {
    // The candidates are the default policies, so the speed-up of the bank's is the reciprocal.
    const Interval& slowed = proofs.proof(i).speed_up;
    claims[claim_of[i]].now = {1 / slowed.median, 1 / slowed.high, 1 / slowed.low};
  }
  return claims;
}

}  // namespace aoe
