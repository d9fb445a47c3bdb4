#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tests/gym/gym.h"

namespace aoe {

// Those of the workloads that are recorded.
std::vector<GymSpace> gym_spaces(const std::filesystem::path& workloads,
                                 const std::filesystem::path& folder);

// What one searcher came to in one space: the middle of several seeds.
struct GymResult {
  std::string search;
  double samples = 0;  // until most of the gap was closed
  Curve left;          // part of the gap, after each sample
};

struct GymRow {
  std::string workload;
  bool cube = false;
  size_t recorded = 0;
  double best = 1;  // share
  std::vector<GymResult> results;
};

struct GymReport {
  std::vector<GymRow> rows;  // of spaces with a gap
  std::vector<std::string> without_gap;

  // The median of the samples that a searcher needed, over the cube or the vector operators or all.
  double median_samples(const std::string& search, std::optional<bool> cube = {}) const;
};

// Of all searchers, or in each space of those alone that a job takes there.
enum class GymExtent : uint8_t { all, as_in_jobs };
GymReport gym_report(const std::vector<GymSpace>& spaces, GymExtent extent);
std::string to_string(const GymReport& report);
// As OUTPUT.csv and OUTPUT.svg.
void write_curves(const GymReport& report, const std::string& output);

}  // namespace aoe
