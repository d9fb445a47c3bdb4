#include "tune/job/ablation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/median.h"
#include "measure/statistics/screen.h"
#include "policy/policy_text.h"
#include "tune/job/paired_blocks.h"
#include "tune/job/trials.h"

namespace aoe {
namespace {

constexpr size_t kMostTried = 8;  // decisions of a policy that are tried
constexpr size_t kMostTold = 3;   // decisions of a policy that are reported
// Number of runs: as many as in a screening, or as many as fit into kShortSeconds, because single
// runs of some microseconds are noisy.
constexpr size_t kFewestRuns = ScreenOptions{}.runs;
constexpr size_t kMostRuns = 25;
constexpr double kShortSeconds = 0.1;

// The name of a decision, without its stage or item if there is only one.
std::string short_name(const Decision& decision, size_t stages, size_t items) {
  const std::string& name = decision.name;
  const bool only = decision.structural ? stages == 1 : items == 1;
  const size_t place = name.find(": ");
  return only && place != std::string::npos ? name.substr(place + 2) : name;
}

// The chosen option; 0 is spelled out.
std::string option_text(const Decision& decision) {
  const std::string& option = decision.options[decision.chosen];
  if (option != "0") return option;
  return decision.name == "threads" ? "all" : "none";
}

const Decision* find(const std::vector<Decision>& chain, const std::string& name) {
  const auto found = std::find_if(chain.begin(), chain.end(),
                                  [&](const Decision& one) { return one.name == name; });
  return found == chain.end() ? nullptr : &*found;
}

bool is_same(const Decision& a, const Decision& b) {
  return a.options[a.chosen] == b.options[b.chosen];
}

void append(DecisionLoss& all, const std::string& name, const std::string& before,
            const std::string& after) {
  const auto add = [](std::string& list, const std::string& word) {
    list += (list.empty() ? "" : ", ") + word;
  };
  add(all.decision, name);
  add(all.before, before);
  add(all.after, after);
}

bool names_algorithm(const std::string& decision) {
  return decision == "product" || decision == "winograd" || decision == "strassen";
}

// All differences between two structures, as one decision: algorithms first.
DecisionLoss structural(const std::vector<Decision>& decisions, const std::vector<Decision>& before,
                        DecisionLoss all, size_t stages) {
  for (const Decision& one : decisions) {
    const Decision* const other = find(before, one.name);
    if (!one.structural || other == nullptr || is_same(one, *other)) continue;
    if (names_algorithm(short_name(one, 1, 0))) continue;
    append(all, short_name(one, stages, 0), option_text(*other), option_text(one));
  }
  return all;
}

// At most kMostTried ablations, by the ranker's expected time, slowest first: reverting an
// important decision costs most.
std::vector<Ablation> most_promising(std::vector<Ablation> all, const SearchMemory& memory) {
  std::vector<Policy> policies;
  for (const Ablation& one : all) policies.push_back(one.policy);
  const std::vector<double> expected = memory.expected(policies);
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return expected[a] > expected[b]; });
  order.resize(std::min(order.size(), kMostTried));
  std::vector<Ablation> first;
  for (const size_t i : order) first.push_back(std::move(all[i]));
  return first;
}

// The ablations of each winner that there is time for.
std::vector<Ablated> chosen(const std::vector<Winner>& winners, const OpenedModel& opened,
                            const AblationCost& cost) {
  std::vector<std::vector<Ablation>> all;
  std::vector<size_t> counts;
  for (const Winner& one : winners) {
    const Space& space = one.memory->space();
    const auto at = static_cast<size_t>(one.candidate.workload);
    const Policy policy = parse_policy(one.candidate.choice, space.workload());
    const Policy before = parse_policy(opened.workloads[at].policy, space.workload());
    all.push_back(most_promising(ablations(space, policy, before), *one.memory));
    counts.push_back(all.back().size());
  }
  counts = affordable(counts, cost);
  std::vector<Ablated> chosen;
  for (size_t i = 0; i < winners.size(); ++i) {
    Ablated& one = chosen.emplace_back();
    one.winner = winners[i].candidate;
    for (size_t k = 0; k < counts[i]; ++k) {
      const Ablation& ablation = all[i][k];
      one.without.push_back(
          {ablation.of, to_string(ablation.policy, winners[i].memory->space().workload())});
    }
  }
  return chosen;
}

// Puts another algorithm before the other decisions, also if its loss is not known.
void name_algorithm(std::vector<DecisionLoss>& decisions, const Winner& winner,
                    const OpenedModel& opened) {
  if (!decisions.empty() && decisions[0].is_algorithm) return;
  const Workload& workload = winner.memory->space().workload();
  const auto at = static_cast<size_t>(winner.candidate.workload);
  DecisionLoss algorithm = changed_algorithm(
      parse_policy(winner.candidate.choice, workload).structure,
      parse_policy(opened.workloads[at].policy, workload).structure, workload.stages.size());
  if (!algorithm.is_algorithm) return;
  decisions.resize(std::min(decisions.size(), kMostTold - 1));
  decisions.insert(decisions.begin(), std::move(algorithm));
}

// Drops ablations that fail to compile or to match the reference.
void check(std::vector<Ablated>& all, const std::function<Answer(const Request&)>& ask) {
  Request work;
  for (const Ablated& one : all) {
    for (const auto& without : one.without) {
      work.compile.push_back({one.winner.workload, without.policy});
    }
  }
  if (work.compile.empty()) return;
  const Answer done = ask(work);
  auto failure = done.compiled.begin();
  for (Ablated& one : all) {
    std::vector<Ablated::Without> sound;
    for (auto& without : one.without) {
      if (!*failure++) sound.push_back(std::move(without));
    }
    one.without = std::move(sound);
  }
}

}  // namespace

DecisionLoss changed_algorithm(const Structure& after, const Structure& before, size_t stages) {
  DecisionLoss all;
  for (size_t s = 0; s < stages; ++s) {
    const StagePolicy is = after.of(s);
    const StagePolicy was = before.of(s);
    const std::string place = stages == 1 ? "" : fmt::format("stage {}: ", s);
    const auto compare = [&](const char* name, const std::string& from, const std::string& to) {
      if (from != to) append(all, place + name, from, to);
    };
    const auto tile = [](int side) { return side == 0 ? "none" : fmt::format("{}", side); };
    const auto yes_no = [](bool yes) { return yes ? "yes" : "no"; };
    compare("product", yes_no(was.product), yes_no(is.product));
    compare("winograd", tile(was.winograd), tile(is.winograd));
    compare("strassen", yes_no(was.strassen), yes_no(is.strassen));
  }
  all.is_algorithm = !all.decision.empty();
  return all;
}

std::vector<Ablation> ablations(const Space& space, const Policy& policy, const Policy& before) {
  std::vector<Ablation> found;
  const size_t stages = space.workload().stages.size();
  const std::vector<Decision> decisions = space.decisions(policy);
  Policy beside = before;
  if (policy.structure != before.structure) {
    DecisionLoss all =
        structural(decisions, space.decisions(before),
                   changed_algorithm(policy.structure, before.structure, stages), stages);
    // A structure outside of the space has no named decisions.
    if (!all.decision.empty()) found.push_back({std::move(all), before});
    beside = default_policy(space.schedule(policy.structure), policy.structure, space.device());
    beside.threads = before.threads;
  }
  const std::vector<Decision> theirs = space.decisions(beside);
  for (size_t d = 0; d < decisions.size(); ++d) {
    const Decision* const other = find(theirs, decisions[d].name);
    if (decisions[d].structural || other == nullptr || is_same(decisions[d], *other)) continue;
    // An option that earlier decisions exclude cannot be chosen alone.
    const auto& options = decisions[d].options;
    const auto option = std::find(options.begin(), options.end(), other->options[other->chosen]);
    if (option == options.end()) continue;
    Policy without = space.with(policy, d, static_cast<size_t>(option - options.begin()));
    if (without == policy) continue;
    found.push_back({{short_name(decisions[d], stages, policy.items.size()), option_text(*other),
                      option_text(decisions[d])},
                     std::move(without)});
  }
  return found;
}

std::vector<size_t> affordable(const std::vector<size_t>& counts, const AblationCost& cost) {
  std::vector<size_t> left(counts.size());
  const size_t most = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
  double taken_s = 0;
  for (size_t k = 0; k < most; ++k) {
    // Each further turn is one more pass per run; the winner has a turn too.
    taken_s += static_cast<double>(kFewestRuns * (k == 0 ? 2 : 1)) * cost.pass_s;
    for (size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] <= k) continue;
      taken_s += cost.candidate_s;
      if (taken_s > cost.allowed_s) return left;
      ++left[i];
    }
  }
  return left;
}

AblationPasses::AblationPasses(std::vector<Ablated> all, const OpenedModel& opened, Random& random)
    : all_(std::move(all)), least_loss_(opened.margin) {
  std::vector<std::vector<CandidateId>> turns(opened.workloads.size(), {CandidateId::baseline});
  size_t longest = 1;
  for (const Ablated& one : all_) {
    auto& workload_turns = turns[static_cast<size_t>(one.winner.workload)];
    workload_turns.clear();
    const auto add = [&](const std::string& policy) {
      wanted_.candidates.push_back({one.winner.workload, policy});
      workload_turns.push_back(id_of(wanted_.candidates.size() - 1));
    };
    add(one.winner.choice);
    for (const auto& without : one.without) add(without.policy);
    longest = std::max(longest, workload_turns.size());
  }
  const double run_s = static_cast<double>(longest) * pass_ns(opened) / 1e9;
  runs_ = std::clamp(static_cast<size_t>(kShortSeconds / run_s), kFewestRuns, kMostRuns);
  wanted_.passes = interleave_passes(std::move(turns), runs_, random);
  for (const OpenWorkload& one : opened.workloads) {
    wanted_.limits_ns.push_back(ScreenOptions{}.hopeless * one.baseline_ns);
  }
}

std::vector<std::vector<double>> AblationPasses::runs_ns(const PassesResult& measured) const {
  const std::vector<double> never(wanted_.candidates.size(),
                                  std::numeric_limits<double>::infinity());
  const size_t in_run = wanted_.passes.size() / runs_;
  std::vector<std::vector<double>> all(runs_, never);
  for (size_t p = 0; p < measured.passes.size(); ++p) {
    const std::vector<CandidateId>& workloads = wanted_.passes[p].workloads;
    for (size_t w = 0; w < workloads.size(); ++w) {
      if (workloads[w] == CandidateId::baseline) continue;
      // Only the first time in a run counts: shorter lists are padded with their winner, and the
      // minimum of its several times would favour it.
      double& first = all[p / in_run][index_of(workloads[w])];
      const double ns = measured.passes[p].workload_ns[w];
      if (!std::isfinite(first) && std::isfinite(ns)) first = ns;
    }
  }
  return all;
}

std::vector<std::vector<DecisionLoss>> AblationPasses::losses(const PassesResult& measured) const {
  const std::vector<std::vector<double>> runs = runs_ns(measured);
  std::vector<std::vector<DecisionLoss>> losses;
  size_t at = 0;
  for (const Ablated& one : all_) {
    const size_t winner = at++;
    auto& winner_losses = losses.emplace_back();
    for (const auto& without : one.without) {
      std::vector<double> ratios;
      for (const std::vector<double>& ns : runs) {
        if (std::isfinite(ns[at] / ns[winner])) ratios.push_back(ns[at] / ns[winner]);
      }
      ++at;
      DecisionLoss loss = without.of;
      loss.loss = ratios.empty() ? 0 : median(std::move(ratios)) - 1;
      if (*loss.loss >= least_loss_) winner_losses.push_back(std::move(loss));
    }
    std::stable_sort(winner_losses.begin(), winner_losses.end(),
                     [](const DecisionLoss& a, const DecisionLoss& b) {
                       return std::pair(a.is_algorithm, a.loss) > std::pair(b.is_algorithm, b.loss);
                     });
    winner_losses.resize(std::min(winner_losses.size(), kMostTold));
  }
  return losses;
}

std::vector<Explanation> explained(const std::vector<Winner>& winners, const OpenedModel& opened,
                                   const AblationCost& cost,
                                   const std::function<Answer(const Request&)>& ask,
                                   Random& random) {
  std::vector<Explanation> explanations;
  for (const Winner& one : winners) {
    const Workload& workload = one.memory->space().workload();
    const auto roofline = [&](double ns) {
      return roofline_of(operations_of(workload), bytes_of(workload), ns, opened.rates);
    };
    explanations.push_back({roofline(one.gain.before_ns), roofline(one.gain.after_ns), {}});
  }
  std::vector<Ablated> tried = chosen(winners, opened, cost);
  check(tried, ask);
  if (std::any_of(tried.begin(), tried.end(),
                  [](const Ablated& one) { return !one.without.empty(); })) {
    const AblationPasses passes(std::move(tried), opened, random);
    const auto losses = passes.losses(ask({{}, passes.wanted()}).measured);
    for (size_t i = 0; i < winners.size(); ++i) explanations[i].decisions = losses[i];
  }
  for (size_t i = 0; i < winners.size(); ++i) {
    name_algorithm(explanations[i].decisions, winners[i], opened);
  }
  return explanations;
}

}  // namespace aoe
