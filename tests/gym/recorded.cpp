#include "tests/gym/recorded.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "base/error.h"
#include "expr/parse.h"
#include "policy/policy_text.h"
#include "policy/validate.h"

namespace aoe {
namespace {

namespace fs = std::filesystem;

// A policy's lines as one.
std::string one_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ';');
  return text;
}

std::string unpacked(const fs::path& file) {
  const gzFile stream = gzopen(file.c_str(), "rb");
  require(stream != nullptr, "'{}' cannot be read", file.string());
  std::string text;
  char part[1 << 14];
  int count = 0;
  while ((count = gzread(stream, part, sizeof part)) > 0) {
    text.append(part, static_cast<size_t>(count));
  }
  const bool whole = gzclose(stream) == Z_OK && count == 0;
  require(whole, "'{}' is damaged", file.string());
  return text;
}

Device device_of(std::istream& line) {
  Device device;
  std::string set;
  line >> device.architecture >> device.micro_architecture >> set;
  for (Cache& cache : device.caches) line >> cache.bytes;
  const auto widest = vector_feature_named(set);
  require(line && widest, "a device is expected");
  for (const Feature one : kFeatures) {
    const bool narrow = one == Feature::fma || one == Feature::f16c
                            ? *widest != Feature::sse2
                            : vector_bytes(one) <= vector_bytes(*widest);
    device.features.set(one, narrow);
  }
  device.vector_bytes = vector_bytes(*widest);
  device.vector_registers = vector_registers(*widest);
  return device;
}

}  // namespace

std::vector<GymWorkload> gym_workloads(const fs::path& file) {
  std::ifstream stream(file);
  require(static_cast<bool>(stream), "'{}' cannot be read", file.string());
  std::vector<GymWorkload> all;
  std::string text;
  const auto end = [&] {
    if (!all.empty()) {
      all.back().workload = std::make_shared<const Workload>(parse_workload(text));
    }
    text.clear();
  };
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with("workload ")) {
      text += line + "\n";
      continue;
    }
    end();
    std::istringstream words(line.substr(line.find(' ')));
    all.emplace_back();
    words >> all.back().name >> all.back().family;
  }
  end();
  return all;
}

void write_recorded(const RecordedSpace& recorded, const fs::path& file) {
  const Device& device = recorded.device;
  std::string text = fmt::format("device {} {} {}", device.architecture, device.micro_architecture,
                                 device.widest_vectors());
  for (const Cache& cache : device.caches) text += fmt::format(" {}", cache.bytes);
  text += fmt::format("\ndefault_ns {:.0f}\nkey {:016x}\n", recorded.default_ns,
                      key_of(*recorded.of.workload));
  for (const auto& [policy, share, random] : recorded.samples) {
    text += fmt::format("{:.4f} {} {}\n", share, random ? "random" : "near",
                        one_line(to_string(policy, *recorded.of.workload)));
  }
  // Whole or not at all.
  const fs::path beside = file.string() + ".new";
  const gzFile stream = gzopen(beside.c_str(), "wb9");
  require(stream != nullptr, "'{}' cannot be written", beside.string());
  const int written = gzwrite(stream, text.data(), static_cast<unsigned>(text.size()));
  const bool whole = gzclose(stream) == Z_OK && written == static_cast<int>(text.size());
  require(whole, "'{}' cannot be written", beside.string());
  fs::rename(beside, file);
}

RecordedSpace read_recorded(const GymWorkload& of, const fs::path& file) {
  RecordedSpace recorded{.of = of};
  std::istringstream lines(unpacked(file));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first;
    words >> first;
    if (first == "device") {
      recorded.device = device_of(words);
    } else if (first == "default_ns") {
      words >> recorded.default_ns;
    } else if (first == "key") {
      std::string key;
      words >> key;
      require(key == fmt::format("{:016x}", key_of(*of.workload)),
              "'{}' is of another workload than {} is now: record it again (make gym-record)",
              file.string(), of.name);
    } else {
      // What a later version calls otherwise, or refuses, is left out.
      try {
        std::string origin, text;
        std::getline(words >> origin >> std::ws, text);
        Policy policy = parse_policy(text, *of.workload);
        if (validate(policy, *of.workload, recorded.device)) ++recorded.unreadable;
        else recorded.samples.push_back({std::move(policy), std::stod(first), origin == "random"});
      } catch (const Error&) {
        ++recorded.unreadable;
      }
    }
  }
  return recorded;
}

}  // namespace aoe
