#include "tune/job/claims.h"

#include "expr/parse.h"
#include "policy/policy_text.h"
#include "policy/schedule.h"
#include "tune/job/paired_blocks.h"

namespace aoe {
namespace {

// Four times the blocks that a claim rests on, so that its own error is what differs.
constexpr size_t kBlocks = 4 * kFinalBlocks;

// The policy that the entry was proven against. Entries of the first version do not name it: then
// the default.
std::string baseline_of(const BankEntry& entry, const OpenWorkload& opened, const Device& device) {
  if (!entry.baseline.empty()) return entry.baseline;
  Workload workload = parse_workload(opened.text);
  workload.numerics = opened.numerics;
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
    check.compile.push_back(
        {workload, baseline_of(*entries[i].entry, opened.workloads[i], device)});
  }
  if (claims.empty()) return claims;
  const Answer checked = runner.ask(check);
  std::vector<Candidate> baselines;
  std::vector<size_t> claim_of;
  for (size_t i = 0; i < claims.size(); ++i) {
    claims[i].failure = checked.compiled[i];
    if (claims[i].failure) continue;
    claim_of.push_back(i);
    baselines.push_back(check.compile[i]);
  }
  if (baselines.empty()) return claims;
  Random random(1);
  // All claims together, as a job estimates them: with all of its policies, and with none.
  PairedBlocks blocks(opened, {baselines}, PairedBlocks::Timed::whole_pass, random);
  const auto done = [&] { return blocks.samples(0).speed_ups.size(); };
  while (blocks.needs_block(0, kBlocks)) {
    blocks.add(runner.ask({{}, blocks.next({true})}).measured);
    on_progress(static_cast<double>(done()) / static_cast<double>(kBlocks));
  }
  for (size_t i = 0; i < claim_of.size(); ++i) {
    Claim& claim = claims[claim_of[i]];
    if (done() < kBlocks) {
      claim.failure = Failure{Cause::crash, "the replaced policies could not be measured"};
      continue;
    }
    // Here the replaced policy is the candidate, so the ratio is inverted.
    const Gain slowed = estimated_gain(blocks.part(0, i));
    claim.now = {slowed.after_ns / slowed.before_ns, 1 / slowed.speedup_high,
                 1 / slowed.speedup_low};
  }
  return claims;
}

}  // namespace aoe
