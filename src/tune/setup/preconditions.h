#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "device/device.h"
#include "tune/setup/options.h"

namespace aoe {

// The machine and the folders that a job uses, as found before it begins.
struct HostState {
  // A folder that the job writes to.
  struct Folder {
    std::string what;  // "the work space (WORK_PATH)"
    std::filesystem::path path;
    bool exists = false;
    bool writable = false;  // readable, writable and searchable for this user
    int64_t free_bytes = 0;
    bool only_read = false;  // it need not be writable, nor have any space
  };

  int64_t model_bytes = 0;
  int64_t free_memory_bytes = 0;
  int usable_cores = 1;  // by affinity and quota
  int allowed_cpus = 1;  // by affinity alone
  int processors = 1;    // of the machine
  std::vector<Folder> folders;
};

HostState surroundings_of(const TuneOptions& options, const Device& device);

// A precondition of a job that does not hold. An obstacle ends the job, advice does not.
struct Finding {
  bool obstacle = false;
  std::string text;  // what was found, and what is required

  bool operator==(const Finding&) const = default;
};

// All preconditions that do not hold, obstacles first.
std::vector<Finding> findings(const TuneOptions& options, const HostState& found);

// The options with the values that depend on the machine: threads, compile jobs, measure jobs.
TuneOptions resolved(TuneOptions options, const HostState& found);

}  // namespace aoe
