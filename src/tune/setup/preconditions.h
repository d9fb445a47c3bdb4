#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "device/device.h"
#include "tune/setup/options.h"

namespace aoe {

// What is found of the machine and of the places that a job uses, before it begins.
struct Surroundings {
  // A folder that the job writes to, as far as it is there.
  struct Folder {
    std::string what;  // "the work space (WORK_PATH)"
    std::filesystem::path path;
    bool exists = false;
    bool writable = false;  // by this user, with what is in it
    int64_t free_bytes = 0;
  };

  int64_t model_bytes = 0;
  int64_t free_memory_bytes = 0;
  int usable_cores = 1;  // by affinity and quota
  int allowed_cpus = 1;  // by affinity alone
  int processors = 1;    // of the machine
  std::vector<Folder> folders;
};

Surroundings surroundings_of(const TuneOptions& options, const Device& device);

// Something that a job asks for and that is not so: an obstacle ends it, advice does not.
struct Finding {
  bool obstacle = false;
  std::string text;  // what was found, and what is asked

  bool operator==(const Finding&) const = default;
};

// All of them, obstacles first.
std::vector<Finding> findings(const TuneOptions& options, const Surroundings& found);

// The options with what the machine decides: threads, and how many jobs there are at once.
TuneOptions resolved(TuneOptions options, const Surroundings& found);

}  // namespace aoe
