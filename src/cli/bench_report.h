#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "device/measure.h"
#include "measure/host/profile.h"
#include "measure/statistics/intervals.h"
#include "measure/statistics/rounds.h"
#include "measure/worker/difference.h"
#include "runtime/stored_policies.h"

namespace aoe {

// The results of `aoe bench`.
struct BenchReport {
  struct Model {
    std::string file;
    ParticipantTimes turns;
    double operations = 0;                                // of one run
    std::shared_ptr<const StoredPolicies> policies = {};  // as LoadedModel::policies()
    std::map<Numerics, int> algorithms = {};  // number of kernels by the class that they need

    Interval latency_ns() const { return median_of(turns.medians_ns); }
    double gflops() const { return operations / latency_ns().median; }
  };
  struct Comparison {
    Model other;
    Interval ratio;                        // the other's times divided by the model's
    std::optional<Difference> difference;  // of the outputs, if names and types are the same
  };

  int threads = 1;
  std::string soc_version;
  std::string kernels;  // "avx512", "reference"
  Rates rates;          // of the machine, on as many cores
  int64_t peak_memory_bytes = 0;
  Model model;
  Interval self;  // A/A: times of the same model, loaded again, divided by the model's
  std::optional<Comparison> comparison;
  std::optional<Profile> profile;
};

// The report as text for the terminal, and as one JSON object.
std::string text_of(const BenchReport& report);
std::string json_of(const BenchReport& report);

}  // namespace aoe
