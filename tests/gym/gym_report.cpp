#include "tests/gym/gym_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>

#include "base/error.h"
#include "base/median.h"
#include "base/parallel.h"

namespace aoe {
namespace {

namespace fs = std::filesystem;

constexpr size_t kSamples = 128;
constexpr uint64_t kSeeds = 3;
constexpr uint64_t kRandomSeeds = 25;  // which cost nothing
constexpr double kPart = 0.8;

GymResult result_of(const GymSpace& space, const std::string& name, uint64_t seeds,
                    const std::function<Curve(uint64_t seed)>& curve_of) {
  std::vector<Curve> curves;
  std::vector<double> samples;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    curves.push_back(curve_of(seed));
    samples.push_back(static_cast<double>(samples_until(curves.back(), space.best(), kPart)));
  }
  GymResult result{name, median(samples), {}};
  for (size_t i = 0; i <= kSamples; ++i) {
    std::vector<double> left;
    for (const Curve& curve : curves) {
      const double share = curve[std::min(i, curve.size() - 1)];
      left.push_back((share - space.best()) / (1 - space.best()));
    }
    result.left.push_back(median(left));
  }
  return result;
}

void in_parallel(size_t count, const std::function<void(size_t)>& body) {
  const HelpersAwake helpers(host_device().cores);
  parallel_for(static_cast<int64_t>(count), 1, host_device().cores,
               [&](int64_t begin, int64_t end, int) {
                 for (int64_t i = begin; i < end; ++i) body(static_cast<size_t>(i));
               });
}

// Over the rows of one kind that have this search, at one number of samples.
double median_left(const GymReport& report, const std::string& search, bool cube, size_t at) {
  std::vector<double> left;
  for (const GymRow& row : report.rows) {
    if (row.cube != cube) continue;
    for (const GymResult& one : row.results) {
      if (one.search == search) left.push_back(one.left[at]);
    }
  }
  return median(std::move(left));
}

std::vector<std::string> searches_of(const GymReport& report) {
  std::vector<std::string> names;
  for (const GymRow& row : report.rows) {
    for (const GymResult& one : row.results) {
      if (std::find(names.begin(), names.end(), one.search) == names.end()) {
        names.push_back(one.search);
      }
    }
  }
  return names;
}

}  // namespace

std::vector<GymSpace> gym_spaces(const fs::path& workloads, const fs::path& folder) {
  std::vector<GymSpace> spaces;
  for (const GymWorkload& one : gym_workloads(workloads)) {
    const fs::path file = folder / (one.name + ".txt.gz");
    if (fs::exists(file)) spaces.emplace_back(read_recorded(one, file));
  }
  require(!spaces.empty(), "'{}' has no recorded spaces: make gym-record makes them",
          folder.string());
  return spaces;
}

double GymReport::median_samples(const std::string& search, std::optional<bool> cube) const {
  std::vector<double> samples;
  for (const GymRow& row : rows) {
    if (cube && row.cube != *cube) continue;
    for (const GymResult& one : row.results) {
      if (one.search == search) samples.push_back(one.samples);
    }
  }
  return median(std::move(samples));
}

GymReport gym_report(const std::vector<GymSpace>& spaces, GymExtent extent) {
  std::vector<GymSearch> searches = gym_searches();
  searches.push_back(gym_search_from_bank(spaces));
  std::map<std::string, int> family;
  for (const GymSpace& space : spaces) ++family[space.recorded().of.family];
  GymReport report;
  for (const GymSpace& space : spaces) {
    const GymWorkload& of = space.recorded().of;
    if (space.has_gap()) {
      report.rows.push_back(
          {of.name, space.is_cube(), space.recorded().samples.size(), space.best(), {}});
    } else {
      report.without_gap.push_back(of.name);
    }
  }
  in_parallel(report.rows.size(), [&](size_t i) {
    GymRow& row = report.rows[i];
    const auto recorded = std::find_if(spaces.begin(), spaces.end(), [&](const GymSpace& space) {
      return space.recorded().of.name == row.workload;
    });
    // A space is not for several threads at once.
    const GymSpace space(recorded->recorded());
    const std::string& own = space.recorded().of.family;
    for (const GymSearch& search : searches) {
      if (search.name == "bank"
              ? family[own] < 2
              : extent == GymExtent::as_in_jobs && search.name != (row.cube ? "genetic" : "tree")) {
        continue;
      }
      row.results.push_back(result_of(space, search.name, kSeeds, [&](uint64_t seed) {
        return searched(space, search, seed, kSamples);
      }));
    }
    row.results.push_back(result_of(space, "random", kRandomSeeds,
                                    [&](uint64_t seed) { return drawn(space, seed); }));
  });
  return report;
}

std::string to_string(const GymReport& report) {
  const std::vector<std::string> searches = searches_of(report);
  std::string text =
      fmt::format("{:32} {:>8} {:>6}", "samples until 80 % of the gap", "policies", "best");
  for (const std::string& name : searches) text += fmt::format(" {:>8}", name);
  text += "\n";
  for (const bool cube : {true, false}) {
    for (const GymRow& row : report.rows) {
      if (row.cube != cube) continue;
      text += fmt::format("{:32} {:8} {:6.3f}", row.workload, row.recorded, row.best);
      for (const std::string& name : searches) {
        const auto found = std::find_if(row.results.begin(), row.results.end(),
                                        [&](const GymResult& one) { return one.search == name; });
        text += found == row.results.end() ? fmt::format(" {:>8}", "-")
                                           : fmt::format(" {:8.0f}", found->samples);
      }
      text += "\n";
    }
    text += fmt::format("{:48}", cube ? "cube, median" : "vector, median");
    for (const std::string& name : searches) {
      text += fmt::format(" {:8.1f}", report.median_samples(name, cube));
    }
    text += "\n";
    for (const size_t at : {8, 16, 32, 64, 128}) {
      text += fmt::format("  {:46}", fmt::format("part of the gap left after {}", at));
      for (const std::string& name : searches) {
        text += fmt::format(" {:8.2f}", median_left(report, name, cube, at));
      }
      text += "\n";
    }
    text += "\n";
  }
  text += fmt::format("{:48}", "all, median");
  for (const std::string& name : searches) {
    text += fmt::format(" {:8.1f}", report.median_samples(name));
  }
  text += "\n";
  if (!report.without_gap.empty()) {
    text += fmt::format("without a gap: {}\n", fmt::join(report.without_gap, ", "));
  }
  return text;
}

void write_curves(const GymReport& report, const std::string& output) {
  const std::vector<std::string> searches = searches_of(report);
  std::string csv = "kind,search,samples,gap_left\n";
  // Two charts side by side, each of 480 x 320, the number of samples as its logarithm.
  const char* const colours[] = {"#1f77b4", "#2ca02c", "#ff7f0e", "#7f7f7f", "#d62728"};
  std::string svg =
      "<svg xmlns='http://www.w3.org/2000/svg' width='1080' height='400' "
      "font-family='sans-serif' font-size='12'>\n";
  for (const bool cube : {true, false}) {
    const double x0 = cube ? 40 : 580;
    const char* kind = cube ? "cube" : "vector";
    svg += fmt::format(
        "<text x='{}' y='20'>{} operators: part of the gap left, by samples (log)</text>\n"
        "<rect x='{}' y='40' width='480' height='320' fill='none' stroke='#ccc'/>\n",
        x0, kind, x0);
    for (size_t s = 0; s < searches.size(); ++s) {
      std::string points;
      for (size_t at = 1; at <= kSamples; ++at) {
        const double left = median_left(report, searches[s], cube, at);
        csv += fmt::format("{},{},{},{:.4f}\n", kind, searches[s], at, left);
        points += fmt::format("{:.1f},{:.1f} ",
                              x0 + 480 * std::log2(static_cast<double>(at)) / std::log2(kSamples),
                              360 - 320 * left);
      }
      svg += fmt::format(
          "<polyline points='{}' fill='none' stroke='{}' stroke-width='2'/>\n"
          "<text x='{}' y='{}' fill='{}'>{}</text>\n",
          points, colours[s % std::size(colours)], x0 + 400, 60 + 16 * s,
          colours[s % std::size(colours)], searches[s]);
    }
    for (size_t at = 1; at <= kSamples; at *= 4) {
      svg += fmt::format("<text x='{:.0f}' y='376' text-anchor='middle'>{}</text>\n",
                         x0 + 480 * std::log2(static_cast<double>(at)) / std::log2(kSamples), at);
    }
  }
  svg += "</svg>\n";
  std::ofstream(output + ".csv") << csv;
  std::ofstream(output + ".svg") << svg;
}

}  // namespace aoe
