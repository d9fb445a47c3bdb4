#include "tune/job/paired_blocks.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/median.h"

// Comparisons by blocks: estimated_gain, PairedBlocks, and Proofs, the sequential test on them.
//
// The passes of one block, with two groups, of workloads 0 and 1, and candidates a and b. a' and b'
// are the twins: the baseline's policies, made anew beside them.
//
//             workload 0   1      other workloads run by the kernels that the model was opened with
//   pass 0             a   b'     not counted: kernels are made in this order
//   pass 1             a'  b
//   pass 2             a'  b'     first pair: each group has a random order of its own
//   pass 3             a   b
//   pass 4             a   b'     second pair
//   pass 5             a'  b
//   ...
//
// Nothing here measures; see trials.cpp.

namespace aoe {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Duration of the pairs of a block: the most blocks that a proof takes are then measured in some
// three seconds. The median ratio of a block still varies by 0.05 % to 1 % on a quiet machine,
// which is little beside the margin.
constexpr double kBlockNs = 80e6;
// One disturbed pass must not decide a block.
constexpr size_t kFewestPairs = 3;
// Of models that take microseconds: more pairs do not make the median of a block better.
constexpr size_t kMostPairs = 64;

// Index of a workload.
size_t index(int number) { return static_cast<size_t>(number); }

}  // namespace

double pass_ns(const OpenedModel& opened) {
  double total = 0;
  for (const OpenWorkload& one : opened.workloads) total += one.baseline_ns;
  return std::max(total, 1.0);
}

size_t block_pairs(const OpenedModel& opened) {
  const auto pairs = static_cast<size_t>(kBlockNs / (2 * pass_ns(opened)));
  return std::clamp(pairs, kFewestPairs, kMostPairs);
}

Gain estimated_gain(const BlockSamples& samples) {
  const double before_ns = median(samples.before_ns);
  std::vector<double> logs;
  for (const double speed_up : samples.speed_ups) logs.push_back(std::log(speed_up));
  Interval ratio{median(logs), -kNever, kNever};
  if (logs.size() >= kFewestValues) ratio = median_of(logs);
  return {.before_ns = before_ns,
          .after_ns = before_ns / std::exp(ratio.median),
          .speedup_low = std::exp(ratio.low),
          .speedup_high = std::exp(ratio.high),
          .samples = static_cast<int64_t>(samples.before_ns.size())};
}

PairedBlocks::PairedBlocks(const OpenedModel& opened, std::vector<Group> groups, Timed timed,
                           Random& random)
    : opened_(opened), timed_(timed), pairs_(block_pairs(opened)), random_(random) {
  for (Group& group : groups) {
    State& state = groups_.emplace_back();
    state.candidates = std::move(group);
    state.parts.resize(state.candidates.size());
    state.first = candidates_.size();
    const auto add_all = [&](bool twins) {
      for (const Candidate& one : state.candidates) {
        if (!twins) candidates_.push_back(one);
        else if (!one.is_plan())
          candidates_.push_back({one.workload, opened.workloads[index(one.workload)].policy});
      }
    };
    add_all(false);
    add_all(true);
  }
}

Assignment PairedBlocks::assignment(const std::vector<bool>& changed) const {
  Assignment assignment{std::vector<CandidateId>(opened_.workloads.size())};
  for (size_t g = 0; g < groups_.size(); ++g) {
    const State& group = groups_[g];
    if (!active_[g]) continue;
    for (size_t i = 0; i < group.candidates.size(); ++i) {
      const Candidate& one = group.candidates[i];
      if (one.is_plan()) {
        if (changed[g]) assignment.plan = id_of(group.first + i);
        continue;
      }
      const size_t twin = group.first + group.candidates.size() + i;
      assignment.workloads[index(one.workload)] = id_of(changed[g] ? group.first + i : twin);
    }
  }
  return assignment;
}

PassesRequest PairedBlocks::next(const std::vector<bool>& active) {
  active_ = active;
  PassesRequest wanted{.fresh = true, .candidates = candidates_};
  const auto random_sides = [&] {
    std::vector<bool> sides(groups_.size());
    for (size_t g = 0; g < sides.size(); ++g) sides[g] = (random_() & 1) != 0;
    return sides;
  };
  const auto add_both = [&](std::vector<bool> first) {
    wanted.passes.push_back(assignment(first));
    first.flip();
    wanted.passes.push_back(assignment(first));
  };
  // Two uncounted passes make the kernels of both sides, in this order, and warm up.
  add_both(random_sides());
  candidate_first_.clear();
  for (size_t i = 0; i < pairs_; ++i) {
    candidate_first_.push_back(random_sides());
    add_both(candidate_first_.back());
  }
  return wanted;
}

double PairedBlocks::add_block(size_t group, const PassesResult& measured, const Time& time,
                               BlockSamples& samples) const {
  std::vector<double> before;
  std::vector<double> after;
  for (size_t i = 0; i < pairs_; ++i) {
    const double first = time(measured.passes[2 + 2 * i]);
    const double second = time(measured.passes[3 + 2 * i]);
    before.push_back(candidate_first_[i][group] ? second : first);
    after.push_back(candidate_first_[i][group] ? first : second);
  }
  samples.speed_ups.push_back(block_speed_up(before, after));
  samples.before_ns.insert(samples.before_ns.end(), before.begin(), before.end());
  return samples.speed_ups.back();
}

std::vector<std::optional<double>> PairedBlocks::add(const PassesResult& measured) {
  std::vector<std::optional<double>> speed_ups(groups_.size());
  for (State& group : groups_) {
    const size_t end = &group == &groups_.back() ? candidates_.size() : (&group + 1)->first;
    for (size_t i = group.first; i < end; ++i) {
      if (aoe::is_failed(measured, i)) group.failed = true;
    }
  }
  if (measured.passes.size() != 2 + 2 * pairs_) {
    if (!has_culprit(measured)) ++losses_;
    return speed_ups;
  }
  for (size_t g = 0; g < groups_.size(); ++g) {
    State& group = groups_[g];
    if (group.failed || !active_[g]) continue;
    const Time whole = [](const Pass& pass) { return pass.total_ns; };
    const Time sum = [&](const Pass& pass) {
      double ns = 0;
      for (const Candidate& one : group.candidates) ns += pass.workload_ns[index(one.workload)];
      return ns;
    };
    speed_ups[g] = add_block(g, measured, timed_ == Timed::whole_pass ? whole : sum, group.samples);
    for (size_t i = 0; i < group.candidates.size(); ++i) {
      if (group.candidates[i].is_plan()) continue;
      const size_t workload = index(group.candidates[i].workload);
      add_block(
          g, measured, [&](const Pass& pass) { return pass.workload_ns[workload]; },
          group.parts[i]);
    }
  }
  return speed_ups;
}

bool PairedBlocks::is_given_up() const { return losses_ >= kMostLosses; }

namespace {

std::vector<PairedBlocks::Group> candidates_of(const std::vector<Proofs::Group>& groups) {
  std::vector<PairedBlocks::Group> all;
  for (const Proofs::Group& group : groups) all.push_back(group.candidates);
  return all;
}

}  // namespace

Proofs::Proofs(const OpenedModel& opened, std::vector<Group> groups, PairedBlocks::Timed timed,
               Random& random)
    : blocks_(opened, candidates_of(groups), timed, random) {
  for (size_t g = 0; g < groups.size(); ++g) {
    const Proof proof = proof_of(groups[g].evidence.speed_ups, groups[g].options);
    states_.push_back({groups[g].options, proof});
    blocks_.set_samples(g, std::move(groups[g].evidence));
  }
}

bool Proofs::over() const {
  return blocks_.is_given_up() ||
         std::all_of(states_.begin(), states_.end(), [](const State& state) {
           return state.proof.decision != ProofDecision::undecided;
         });
}

double Proofs::share() const {
  double share = 1;
  for (size_t g = 0; g < states_.size(); ++g) {
    if (states_[g].proof.decision != ProofDecision::undecided) continue;
    const auto done = static_cast<double>(evidence(g).speed_ups.size());
    share = std::min(share, done / static_cast<double>(most_blocks(states_[g].options.error)));
  }
  return share;
}

size_t Proofs::missing_blocks() const {
  size_t missing = 0;
  for (size_t g = 0; g < states_.size(); ++g) {
    if (states_[g].proof.decision != ProofDecision::undecided) continue;
    const size_t fewest = fewest_blocks(states_[g].options.error);
    const size_t left = fewest - std::min(fewest, evidence(g).speed_ups.size());
    missing =
        missing == 0 ? std::max<size_t>(left, 1) : std::min(missing, std::max<size_t>(left, 1));
  }
  return missing;
}

PassesRequest Proofs::next() {
  std::vector<bool> active;
  for (const State& state : states_) {
    active.push_back(state.proof.decision == ProofDecision::undecided);
  }
  return blocks_.next(active);
}

void Proofs::add(const PassesResult& measured) {
  blocks_.add(measured);
  for (size_t g = 0; g < states_.size(); ++g) {
    if (states_[g].proof.decision != ProofDecision::undecided) continue;
    states_[g].proof = proof_of(evidence(g).speed_ups, states_[g].options);
    if (blocks_.is_failed(g)) states_[g].proof.decision = ProofDecision::rejected;
  }
}

}  // namespace aoe
