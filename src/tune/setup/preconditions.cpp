#include "tune/setup/preconditions.h"

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/error.h"
#include "device/cores.h"

namespace aoe {
namespace {

namespace fs = std::filesystem;

// Memory of a worker in sizes of the model: the weights of the model, the prepacked weights of its
// kernels, and the arena, which is rarely larger than the weights.
constexpr int64_t kCopiesInMemory = 3;
// Memory for the tuner itself, the pages of its journal and the compiler in each worker.
constexpr int64_t kMemoryBeside = int64_t{256} << 20;
// Disk space in addition to the tuned model, which is as large as the model: the journal of a long
// job has some ten thousand measurements of about a kilobyte, and the object cache grows to its
// limit.
constexpr int64_t kDiskBeside = int64_t{512} << 20;
constexpr int kMostCompileJobs = 8;
// The vendor's figure for the processes that its tools start besides the training process.
constexpr int kCoresBeside = 50;

std::string gb(int64_t bytes) { return fmt::format("{:.2f} GB", static_cast<double>(bytes) / 1e9); }

int64_t available_memory(const Device& device) {
  std::ifstream file("/proc/meminfo");
  std::string word;
  int64_t kilobytes = 0;
  while (file >> word) {
    if (word == "MemAvailable:" && file >> kilobytes) return kilobytes * 1024;
  }
  return device.memory_bytes;
}

HostState::Folder folder_at(std::string what, const fs::path& path) {
  HostState::Folder folder{.what = std::move(what), .path = path};
  std::error_code error;
  folder.exists = fs::is_directory(path, error);
  folder.writable = folder.exists && access(path.c_str(), R_OK | W_OK | X_OK) == 0;
  struct statvfs disk = {};
  if (folder.exists && statvfs(path.c_str(), &disk) == 0) {
    folder.free_bytes = static_cast<int64_t>(disk.f_bavail) * static_cast<int64_t>(disk.f_frsize);
  }
  return folder;
}

// The folder to check for the bank that is written. Those that TUNE_BANK_PATH names must exist;
// others are created, so the nearest existing parent counts.
fs::path place_of_bank(const BankPlaces& banks) {
  if (banks.variable == "TUNE_BANK_PATH") return banks.roots[0];
  std::error_code error;
  fs::path folder = fs::absolute(banks.written(BankKind::operators), error).parent_path();
  while (folder.has_relative_path() && !fs::exists(folder, error)) folder = folder.parent_path();
  return folder;
}

// The folders of the layers that are only read.
std::vector<HostState::Folder> other_layers(const BankPlaces& banks) {
  std::vector<HostState::Folder> folders;
  for (size_t i = 1; i < banks.roots.size(); ++i) {
    folders.push_back(folder_at(fmt::format("a bank ({})", banks.variable), banks.roots[i]));
    folders.back().only_read = true;
  }
  return folders;
}

}  // namespace

HostState surroundings_of(const TuneOptions& options, const Device& device) {
  HostState found;
  std::error_code error;
  const auto bytes = static_cast<int64_t>(fs::file_size(options.model, error));
  require(!error && fs::is_regular_file(options.model), "--model '{}' is no file that can be read",
          options.model.string());
  found.model_bytes = bytes;
  found.free_memory_bytes = available_memory(device);
  found.usable_cores = usable_cores();
  found.allowed_cpus = static_cast<int>(allowed_cpus().size());
  found.processors = device.processors;
  found.folders.push_back(folder_at("the work space (WORK_PATH)", options.work_path));
  found.folders.push_back(folder_at("result files (ASCEND_WORK_PATH)", options.result_dir));
  if (!options.output.empty()) {
    const fs::path parent = options.output.parent_path();
    found.folders.push_back(folder_at("the tuned model (--output)", parent.empty() ? "." : parent));
  }
  if (!options.banks.custom.empty()) {
    found.folders.push_back(folder_at(fmt::format("the bank ({})", options.banks.variable),
                                      place_of_bank(options.banks)));
  }
  for (HostState::Folder& layer : other_layers(options.banks)) found.folders.push_back(layer);
  return found;
}

TuneOptions resolved(TuneOptions options, const HostState& found) {
  if (options.threads == 0) options.threads = found.usable_cores;
  if (options.compile_jobs == 0) {
    options.compile_jobs = std::min(found.usable_cores, kMostCompileJobs);
  }
  // Each measure job needs separate cores.
  options.measure_jobs =
      std::clamp(options.measure_jobs, 1, std::max(found.usable_cores / options.threads, 1));
  return options;
}

std::vector<Finding> findings(const TuneOptions& options, const HostState& found) {
  std::vector<Finding> all;
  const auto obstacle_unless = [&](bool holds, std::string text) {
    if (!holds) all.push_back({true, std::move(text)});
  };
  const auto advice_unless = [&](bool holds, std::string text) {
    if (!holds) all.push_back({false, std::move(text)});
  };

  const int64_t disk = found.model_bytes + kDiskBeside;
  obstacle_unless(
      !options.banks.custom.empty(),
      "there is no place for the bank: HOME is not set; set TUNE_BANK_PATH to a folder");
  for (const auto& [what, path, exists, writable, free_bytes, only_read] : found.folders) {
    obstacle_unless(exists,
                    fmt::format("'{}', for {}, does not exist or is not a folder: create it",
                                path.string(), what));
    if (!exists || only_read) continue;
    obstacle_unless(writable, fmt::format("'{}', for {}, must be readable, writable and searchable "
                                          "for this user; it is not",
                                          path.string(), what));
    obstacle_unless(free_bytes >= disk,
                    fmt::format("'{}', for {}, is on a disk with {} free; this job can need {}",
                                path.string(), what, gb(free_bytes), gb(disk)));
  }
  const int64_t memory = kCopiesInMemory * found.model_bytes * options.measure_jobs + kMemoryBeside;
  obstacle_unless(found.free_memory_bytes >= memory,
                  fmt::format("{} of memory are free; a model of {}, measured {} at a time "
                              "(TUNING_PARALLEL_NUM), can need {}",
                              gb(found.free_memory_bytes), gb(found.model_bytes),
                              options.measure_jobs, gb(memory)));
  obstacle_unless(options.threads <= found.usable_cores,
                  fmt::format("--aicore_num is {}, but this process may use {} of the machine's {} "
                              "processors",
                              options.threads, found.usable_cores, found.processors));
  advice_unless(found.allowed_cpus >= found.processors,
                fmt::format("this process is bound to {} of the machine's {} processors: policies "
                            "tuned like this may not be the best ones without that",
                            found.allowed_cpus, found.processors));
  const int cores = options.compile_jobs + options.measure_jobs +
                    std::min(found.usable_cores / 2, 8) + kCoresBeside;
  advice_unless(found.usable_cores >= cores,
                fmt::format("{} cores may be used; {} are recommended for a short job "
                            "(TE_PARALLEL_COMPILER {} + TUNING_PARALLEL_NUM {} + half the cores, "
                            "at most 8, + {})",
                            found.usable_cores, cores, options.compile_jobs, options.measure_jobs,
                            kCoresBeside));
  return all;
}

}  // namespace aoe
