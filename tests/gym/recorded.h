#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "device/device.h"
#include "expr/workload.h"
#include "policy/policy.h"

namespace aoe {

// A workload of the gym, as workloads.txt lists them.
struct GymWorkload {
  std::string name;
  std::string family;  // the operator: others of it differ in their shapes alone
  std::shared_ptr<const Workload> workload;
};
std::vector<GymWorkload> gym_workloads(const std::filesystem::path& file);

// Some of a workload's policies, and how long each took as a part of what the default took beside
// it: infinite for one that failed. The default itself is among them.
struct RecordedSpace {
  GymWorkload of;
  Device device;
  double default_ns = 0;
  struct Sample {
    Policy policy;
    double share;
    bool random;  // drawn from the whole space, and not only found near the default or the best
  };
  std::vector<Sample> samples;
  int unreadable = 0;  // policies of the file that the product does not know any more
};

// As compressed text: docs/tuning.md says how it reads.
void write_recorded(const RecordedSpace& recorded, const std::filesystem::path& file);
RecordedSpace read_recorded(const GymWorkload& of, const std::filesystem::path& file);

}  // namespace aoe
