#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "search/searcher.h"
#include "tune/expectation.h"
#include "tune/job.h"
#include "tune/trials.h"

namespace aoe {

// A policy, and what it seems to take, as a share of the standing policy's time.
struct SeenPolicy {
  std::string policy;
  double share = 1;
};

// A workload that is tuned, and how far that has come.
struct TunedWorkload {
  int workload = 0;
  std::shared_ptr<const Workload> parsed;
  std::shared_ptr<SearchMemory> memory;  // shares are of the standing policy's time
  std::unique_ptr<Searcher> searcher;
  Expectation expectation{0};

  std::set<std::string> raced;  // policies that had their race
  // Has won its race, and is to be confirmed: so far there is this evidence.
  std::optional<SeenPolicy> challenger;
  Evidence evidence;
  // The best that was confirmed.
  std::optional<Accepted> proven;

  double best_share() const { return memory->seen()[0].share; }
};

}  // namespace aoe
