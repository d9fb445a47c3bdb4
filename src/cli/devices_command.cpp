#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/words.h"
#include "device/device.h"
#include "device/measure.h"

namespace aoe {
namespace {

constexpr std::array kCacheNames{"L1d", "L2", "L3"};

struct DevicesOptions {
  bool measure = false;
  bool json = false;
  int threads = 0;
};

struct Measured {
  int threads;
  Rates rates;
  double fork_join_us;
};

std::vector<Measured> measure(const Device& device, const DevicesOptions& options) {
  if (!options.measure) return {};
  std::vector<int> counts{1};
  if (options.threads > 0) counts = {options.threads};
  else if (device.cores > 1) counts.push_back(device.cores);
  std::vector<Measured> measured;
  for (const int count : counts) {
    measured.push_back({count, measure_rates(device, count), measure_fork_join_us(count)});
  }
  return measured;
}

template <typename Among>
std::vector<std::string_view> names(const Features& features, const Among& among) {
  std::vector<std::string_view> found;
  for (const Feature feature : among) {
    if (features.has(feature)) found.push_back(name(feature));
  }
  return found;
}

void print_row(std::string_view label, std::string_view text) {
  fmt::print("{:<12} {}\n", label, text);
}

void print_text(const Device& device, const std::vector<Measured>& measured) {
  fmt::print("{}\n", device.soc_version());
  print_row("processor", device.processor);
  print_row("vectors", fmt::format("{} bytes, {} registers; works: {}", device.vector_bytes,
                                   device.vector_registers,
                                   fmt::join(names(device.features, kVectorFeatures), ", ")));
  if (!device.announced_only.empty()) {
    print_row("", fmt::format("announced, but faults: {}",
                              fmt::join(names(device.announced_only, kFeatures), ", ")));
  }
  for (size_t level = 0; level < device.caches.size(); ++level) {
    const auto& [bytes, line_bytes, shared_by] = device.caches[level];
    if (bytes == 0) continue;
    print_row(kCacheNames[level],
              fmt::format("{}, lines of {} bytes, {}", size_text(bytes), line_bytes,
                          shared_by == 1 ? "private to each core"
                                         : fmt::format("shared by {} cores", shared_by)));
  }
  print_row("cores", fmt::format("{} of {} usable", device.cores, device.processors));
  print_row("memory", size_text(device.memory_bytes));
  for (const auto& [threads, rates, fork_join_us] : measured) {
    print_row(count_text(threads, "thread"),
              fmt::format("{:.1f} GFLOP/s (f32), {:.1f} GB/s{}", rates.fma_gflops, rates.copy_gbps,
                          threads > 1 ? fmt::format(", fork-join {:.2f} us", fork_join_us) : ""));
  }
}

void print_json(const Device& device, const std::vector<Measured>& measured) {
  using Json = nlohmann::ordered_json;
  Json caches = Json::array();
  for (size_t level = 0; level < device.caches.size(); ++level) {
    const auto& [bytes, line_bytes, shared_by] = device.caches[level];
    if (bytes == 0) continue;
    caches.push_back({{"name", kCacheNames[level]},
                      {"bytes", bytes},
                      {"line_bytes", line_bytes},
                      {"shared_by", shared_by}});
  }
  Json rates = Json::array();
  for (const auto& [threads, seen, fork_join_us] : measured) {
    rates.push_back({{"threads", threads},
                     {"fma_gflops", seen.fma_gflops},
                     {"copy_gbps", seen.copy_gbps},
                     {"fork_join_us", fork_join_us}});
  }
  Json all{{"soc_version", device.soc_version()},
           {"architecture", device.architecture},
           {"micro_architecture", device.micro_architecture},
           {"processor", device.processor},
           {"fingerprint", device.fingerprint},
           {"instruction_sets", names(device.features, kVectorFeatures)},
           {"announced_only", names(device.announced_only, kFeatures)},
           {"fma", device.has(Feature::fma)},
           {"f16c", device.has(Feature::f16c)},
           {"vector_bytes", device.vector_bytes},
           {"vector_registers", device.vector_registers},
           {"cores", device.cores},
           {"processors", device.processors},
           {"caches", caches},
           {"memory_bytes", device.memory_bytes}};
  if (!measured.empty()) all["rates"] = rates;
  // A processor's name may be any bytes.
  fmt::print("{}\n", all.dump(2, ' ', false, Json::error_handler_t::replace));
}

void show_devices(const DevicesOptions& options) {
  require(options.threads == 0 || options.measure, "--threads requires --measure");
  const Device& device = host_device();
  const std::vector<Measured> measured = measure(device, options);
  if (options.json) print_json(device, measured);
  else print_text(device, measured);
}

}  // namespace

void add_devices_command(CLI::App& app) {
  auto options = std::make_shared<DevicesOptions>();
  CLI::App* command = app.add_subcommand("devices", "Show what this machine is and can do");
  command->add_flag("--measure", options->measure,
                    "Measure multiply-adds and memory on one core and on all");
  command
      ->add_option("--threads", options->threads,
                   "Measure on so many cores only; 0: on one and on all")
      ->check(CLI::Range(0, 1024));
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options] { show_devices(*options); });
}

}  // namespace aoe
