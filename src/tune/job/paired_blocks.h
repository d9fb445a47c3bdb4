#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "bank/gain.h"
#include "measure/statistics/proof.h"
#include "policy/space.h"
#include "tune/runner/runner.h"

namespace aoe {

// Time of all workloads in one pass of the baseline.
double pass_ns(const OpenedModel& opened);

// Number of pairs of passes per block.
size_t block_pairs(const OpenedModel& opened);

// Results of the blocks of a comparison so far.
struct BlockSamples {
  std::vector<double> speed_ups;  // of each block
  std::vector<double> before_ns;  // the baseline's time in all pairs of all blocks
};

// What the blocks of a comparison estimate. before_ns is the median over all pairs, after_ns the
// same divided by the median speed-up. The bounds have kConfidence if the number of blocks was
// fixed beforehand; they are 0 and infinity if there are fewer than kFewestValues. The noise floor
// is not set.
Gain estimated_gain(const BlockSamples& samples);

// Blocks of an estimate that a job reports: the bounds of its interval are then the second smallest
// and the second largest speed-up.
inline constexpr size_t kFinalBlocks = 12;

// Composes blocks of paired passes that compare groups of candidates with the baseline, and
// evaluates them. Each block runs in a fresh process. There both sides are made anew, in random
// order, so that neither is favoured by where its weights and code lie: the baseline's policies are
// candidates like the others (twins), beside the kernels that the model was opened with.
class PairedBlocks {
 public:
  // A group changes as one. `whole_pass`: compares the times of whole passes, as plans require;
  // `workloads`: the times of the group's workloads.
  enum class Timed : uint8_t { workloads, whole_pass };
  using Group = std::vector<Candidate>;

  PairedBlocks(const OpenedModel& opened, std::vector<Group> groups, Timed timed, Random& random);

  // The passes of one block, in which groups that are not `active` run by their baseline.
  PassesRequest next(const std::vector<bool>& active);
  // The speed-up of each group that was active in this block, and adds the block to its samples.
  // Nothing for a group that failed, now or earlier, and if the block was lost.
  std::vector<std::optional<double>> add(const PassesResult& measured);

  const BlockSamples& samples(size_t group) const { return groups_[group].samples; }
  // The same of the workload of one candidate of a group.
  const BlockSamples& part(size_t group, size_t candidate) const {
    return groups_[group].parts[candidate];
  }
  void set_samples(size_t group, BlockSamples samples) {
    groups_[group].samples = std::move(samples);
  }
  bool is_failed(size_t group) const { return groups_[group].failed; }
  size_t groups() const { return groups_.size(); }
  // Whether workers were lost so often, without a candidate to blame, that there is no use in going
  // on.
  bool is_given_up() const;
  // Whether an estimate of this many blocks needs another one, and can have it.
  bool needs_block(size_t group, size_t count) const {
    return samples(group).speed_ups.size() < count && !is_failed(group) && !is_given_up();
  }

 private:
  struct State {
    Group candidates;
    size_t first = 0;  // index of its first candidate in requests; its twins follow
    BlockSamples samples;
    std::vector<BlockSamples> parts;  // by candidate
    bool failed = false;
  };
  using Time = std::function<double(const Pass&)>;

  Assignment assignment(const std::vector<bool>& changed) const;
  // Adds a block to samples of a group, by one of the times of a pass.
  double add_block(size_t group, const PassesResult& measured, const Time& time,
                   BlockSamples& samples) const;

  const OpenedModel& opened_;
  std::vector<State> groups_;
  Timed timed_;
  size_t pairs_;
  Random& random_;
  std::vector<Candidate> candidates_;               // of requests: candidates and twins
  std::vector<bool> active_;                        // in the latest request, by group
  std::vector<std::vector<bool>> candidate_first_;  // in the latest request: by pair and group
  size_t losses_ = 0;  // blocks without times, because the worker was lost
};

// Sequential tests (proof.h) of several groups, on the same blocks.
class Proofs {
 public:
  struct Group {
    PairedBlocks::Group candidates;
    ProofOptions options;
    BlockSamples evidence = {};  // of an undecided proof that is continued
  };

  Proofs(const OpenedModel& opened, std::vector<Group> groups, PairedBlocks::Timed timed,
         Random& random);

  bool over() const;
  double share() const;  // completed share
  PassesRequest next();  // the passes of one block
  void add(const PassesResult& measured);
  // Number of blocks that the proof that has come farthest needs at least.
  size_t missing_blocks() const;

  const Proof& proof(size_t group) const { return states_[group].proof; }
  const BlockSamples& evidence(size_t group) const { return blocks_.samples(group); }
  bool is_failed(size_t group) const { return blocks_.is_failed(group); }

 private:
  struct State {
    ProofOptions options;
    Proof proof;
  };

  PairedBlocks blocks_;
  std::vector<State> states_;
};

}  // namespace aoe
