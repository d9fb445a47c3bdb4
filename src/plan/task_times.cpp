#include "plan/task_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "base/error.h"
#include "base/median.h"
#include "policy/contraction.h"
#include "policy/estimate.h"

namespace aoe {
namespace {

constexpr const char* kCube = "cube";
constexpr const char* kVector = "vector";

bool is_cube(const Workload& workload) {
  return std::any_of(workload.stages.begin(), workload.stages.end(),
                     [](const Stage& stage) { return contraction_of(stage).has_value(); });
}

double positive(const std::string& word) {
  double number = 0;
  const char* const last = word.data() + word.size();
  const auto [end, error] = std::from_chars(word.data(), last, number);
  require(error == std::errc{} && end == last && std::isfinite(number) && number > 0,
          "'{}' is not a valid task time", word);
  return number;
}

uint64_t key(const std::string& word) {
  constexpr size_t kDigits = 16;
  uint64_t number = 0;
  const char* const last = word.data() + word.size();
  const auto [end, error] = std::from_chars(word.data(), last, number, 16);
  require(error == std::errc{} && end == last && word.size() == kDigits,
          "'{}' is no key of a workload", word);
  return number;
}

}  // namespace

std::string to_string(const TaskTimes& times) {
  std::string text =
      fmt::format("{} {}\n{} {}\n", kCube, times.cube_ratio, kVector, times.vector_ratio);
  for (const auto& [workload, ns] : times.ns) text += fmt::format("{:016x} {}\n", workload, ns);
  return text;
}

TaskTimes parse_task_times(const std::string& text) {
  TaskTimes times;
  std::istringstream lines(text);
  const auto ratio = [&](const char* name) {
    std::string word;
    std::string number;
    require(lines >> word >> number && word == name, "task times: line '{}' is missing", name);
    return positive(number);
  };
  times.cube_ratio = ratio(kCube);
  times.vector_ratio = ratio(kVector);
  for (std::string workload, ns; lines >> workload;) {
    require(static_cast<bool>(lines >> ns), "times of tasks end before that of {}", workload);
    times.ns[key(workload)] = positive(ns);
  }
  return times;
}

TaskTimes task_times(const std::vector<std::pair<Workload, double>>& measured_ns,
                     const Device& device) {
  TaskTimes times;
  std::vector<double> all;
  std::vector<double> cube;
  std::vector<double> vector;
  for (const auto& [workload, ns] : measured_ns) {
    times.ns[key_of(workload)] = ns;
    const double estimated_ns = 1e9 * estimated_seconds(workload, device);
    if (estimated_ns <= 0) continue;
    all.push_back(ns / estimated_ns);
    (is_cube(workload) ? cube : vector).push_back(all.back());
  }
  const double any = all.empty() ? 1 : median(all);
  times.cube_ratio = cube.empty() ? any : median(cube);
  times.vector_ratio = vector.empty() ? any : median(vector);
  return times;
}

TaskCost measured_cost(const Device& device, TaskTimes times) {
  return cost_by([device, times = std::move(times)](const Workload& workload) {
    const auto found = times.ns.find(key_of(workload));
    if (found != times.ns.end()) return found->second / 1e9;
    return estimated_seconds(workload, device) *
           (is_cube(workload) ? times.cube_ratio : times.vector_ratio);
  });
}

}  // namespace aoe
