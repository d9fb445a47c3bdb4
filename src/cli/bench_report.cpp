#include "cli/bench_report.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "cli/model_options.h"
#include "cli/words.h"
#include "measure/host/roofline.h"

namespace aoe {
namespace {

using Json = nlohmann::ordered_json;

std::string row(std::string_view label, const std::string& text) {
  return fmt::format("{:<12} {}\n", label, text);
}

std::string ratio_text(const Interval& ratio) {
  return fmt::format("{:.3f} ({:.0f} %: {:.3f} to {:.3f})", ratio.median, 100 * kConfidence,
                     ratio.low, ratio.high);
}

std::string latency_text(const BenchReport::Model& model) {
  const Interval latency = model.latency_ns();
  return fmt::format("median {} ({:.0f} %: {} to {}), minimum {}; {} in {}",
                     duration_text(latency.median), 100 * kConfidence, duration_text(latency.low),
                     duration_text(latency.high), duration_text(model.turns.minimum_ns),
                     count_text(model.turns.calls, "run"),
                     count_text(static_cast<int64_t>(model.turns.medians_ns.size()), "round"));
}

std::string model_text(const BenchReport::Model& model, const Rates& rates) {
  const std::string bank = bank_text(model.policies.get());
  return row("model", printable(model.file)) + (bank.empty() ? "" : row("bank", bank)) +
         (model.algorithms.empty() ? "" : row("algorithms", algorithms_text(model.algorithms))) +
         row("latency", latency_text(model)) +
         row("rate", fmt::format("{:.4g} GFLOP/s{}", model.gflops(),
                                 share_text(model.gflops(), rates.fma_gflops)));
}

// "proven: b.onnx takes 3.1 % to 4.0 % less time than a.onnx"
std::string verdict_text(const BenchReport& report) {
  const BenchReport::Comparison& comparison = *report.comparison;
  const Interval& ratio = comparison.ratio;
  const Verdict verdict = verdict_on(ratio, report.self);
  if (verdict == Verdict::not_proven) {
    return fmt::format("not proven that either is faster: a difference counts from {:.1f} % on",
                       100 * (noise_floor(report.self) - 1));
  }
  const bool faster = verdict == Verdict::faster;
  return fmt::format("proven: {} takes {:.1f} % to {:.1f} % {} time than {}", comparison.other.file,
                     100 * (faster ? 1 - ratio.high : ratio.low - 1),
                     100 * (faster ? 1 - ratio.low : ratio.high - 1), faster ? "less" : "more",
                     report.model.file);
}

std::string difference_text(const Difference& difference) {
  std::string numbers = fmt::format("differ by at most {:.3g}, of numbers up to {:.3g}",
                                    difference.largest, difference.of);
  if (difference.not_finite == 0) return numbers;
  const std::string odd = fmt::format("are not finite: {} infinite or NaN",
                                      difference.not_finite == 1
                                          ? "1 element is"
                                          : fmt::format("{} elements are", difference.not_finite));
  if (!std::isfinite(difference.largest)) return odd + ", not the same in both models";
  return fmt::format("{}, the same in both models; the others {}", odd, numbers);
}

std::string comparison_text(const BenchReport& report) {
  const BenchReport::Comparison& comparison = *report.comparison;
  std::string text = "\n" + model_text(comparison.other, report.rates);
  if (comparison.difference) {
    text += row("outputs", difference_text(*comparison.difference));
  }
  text += "\n";
  text += row("ratio", fmt::format("{}, its times to those of {}", ratio_text(comparison.ratio),
                                   report.model.file));
  return text;
}

std::vector<Profile::Step> by_time(const Profile& profile) {
  std::vector<Profile::Step> steps = profile.steps;
  std::stable_sort(steps.begin(), steps.end(), [](const Profile::Step& a, const Profile::Step& b) {
    return a.median_ns > b.median_ns;
  });
  return steps;
}

// What a step is, unless it is a kernel that computes sums as they stand.
std::string mark_of(const Profile::Step& step) {
  const std::string& mark = step.kind == "kernel" ? step.algorithm : step.kind;
  return mark == name(Numerics::direct) ? "" : fmt::format(" [{}]", mark);
}

std::string profile_text(const Profile& profile, const Rates& rates) {
  const auto line = [&](double ns, const std::string& rate, const std::string& of_roof,
                        const std::string& what) {
    return fmt::format("{:>10}  {:>5.1f} %  {:>14}  {:>6}  {}\n", duration_text(ns),
                       100 * ns / profile.total_ns, rate, of_roof, what);
  };
  std::string text = fmt::format("\n{:>10}  {:>7}  {:>14}  {:>6}  where the time of {} goes\n",
                                 "time", "share", "rate", "roof", count_text(profile.runs, "run"));
  for (const Profile::Step& step : by_time(profile)) {
    std::string rate;
    std::string of_roof;
    if (step.kind != "host" && step.median_ns > 0) {
      const Roofline roofline = roofline_of(step.operations, step.bytes, step.median_ns, rates);
      rate = fmt::format("{:.4g} {}", roofline.rate, roofline.by_operations ? "GFLOP/s" : "GB/s");
      of_roof = fmt::format("{:.0f} %", 100 * roofline.share);
    }
    text += line(step.median_ns, rate, of_roof,
                 fmt::format("{}{}{}", printable(fmt::format("{}", fmt::join(step.nodes, ", "))),
                             mark_of(step), step.changes_layout ? " [changes layout]" : ""));
  }
  text += line(profile.between_ns, "", "", "between the steps");
  return text + line(profile.total_ns, "", "", "in all");
}

Json json_of(const Interval& interval) {
  return {{"median", interval.median}, {"low", interval.low}, {"high", interval.high}};
}

Json json_of(const BenchReport::Model& model, const Rates& rates) {
  Json latency = json_of(model.latency_ns());
  latency["minimum"] = model.turns.minimum_ns;
  Json all{{"model", model.file},
           {"latency_ns", latency},
           {"rounds", model.turns.medians_ns.size()},
           {"runs", model.turns.calls},
           {"operations", model.operations},
           {"gflops", model.gflops()},
           {"peak_share", model.gflops() / rates.fma_gflops}};
  for (const auto& [numerics, count] : model.algorithms) {
    all["algorithms"][std::string(name(numerics))] = count;
  }
  if (!bank_text(model.policies.get()).empty()) {
    const PolicyCounts counts = model.policies->counts();
    all["bank"] = {{"workloads", counts.workloads}, {"hits", counts.from_bank}};
    for (const auto& [file, hits] : counts.by_bank) all["bank"]["by_bank"][file.string()] = hits;
  }
  return all;
}

Json json_of(const BenchReport::Comparison& comparison, const BenchReport& report) {
  constexpr std::array kNames{"faster", "slower", "not proven"};
  Json all = json_of(comparison.other, report.rates);
  all["ratio"] = json_of(comparison.ratio);
  all["verdict"] = kNames[static_cast<size_t>(verdict_on(comparison.ratio, report.self))];
  if (comparison.difference) {
    all["outputs"] = {{"largest_difference", comparison.difference->largest},
                      {"largest_number", comparison.difference->of},
                      {"not_finite", comparison.difference->not_finite}};
  }
  return all;
}

Json json_of(const Profile& profile, const Rates& rates) {
  Json steps = Json::array();
  for (const Profile::Step& step : by_time(profile)) {
    Json entry{{"nodes", step.nodes},
               {"kind", step.kind},
               {"changes_layout", step.changes_layout},
               {"median_ns", step.median_ns},
               {"share", step.median_ns / profile.total_ns}};
    if (!step.algorithm.empty()) entry["algorithm"] = step.algorithm;
    if (step.kind != "host" && step.median_ns > 0) {
      const Roofline roofline = roofline_of(step.operations, step.bytes, step.median_ns, rates);
      entry["operations"] = step.operations;
      entry["bytes"] = step.bytes;
      entry["gflops"] = step.operations / step.median_ns;
      entry["gbps"] = step.bytes / step.median_ns;
      entry["bound_by"] = roofline.by_operations ? "operations" : "bytes";
      entry["roof_share"] = roofline.share;
    }
    steps.push_back(std::move(entry));
  }
  return {{"runs", profile.runs},
          {"total_ns", profile.total_ns},
          {"between_ns", profile.between_ns},
          {"steps", steps}};
}

// Only kernels flush denormals; the reference keeps them.
bool flushes_denormals(const BenchReport& report) { return report.kernels != "reference"; }

}  // namespace

std::string text_of(const BenchReport& report) {
  std::string text =
      row("machine", fmt::format("{}, {}, {}; denormals are {}", report.soc_version, report.kernels,
                                 count_text(report.threads, "thread"),
                                 flushes_denormals(report) ? "zero inside kernels" : "kept"));
  text += model_text(report.model, report.rates);
  text += row("memory", size_text(report.peak_memory_bytes) + " at most, to load it and run it");
  if (report.comparison) text += comparison_text(report);
  text += row("A/A", ratio_text(report.self) + ", two instances of this model");
  if (report.comparison) text += row("", verdict_text(report));
  if (report.profile) text += profile_text(*report.profile, report.rates);
  return text;
}

std::string json_of(const BenchReport& report) {
  Json all = json_of(report.model, report.rates);
  all["threads"] = report.threads;
  all["soc_version"] = report.soc_version;
  all["kernels"] = report.kernels;
  all["flushes_denormals"] = flushes_denormals(report);
  all["peak_memory_bytes"] = report.peak_memory_bytes;
  all["rates"] = {{"fma_gflops", report.rates.fma_gflops}, {"copy_gbps", report.rates.copy_gbps}};
  all["confidence"] = kConfidence;
  all["self_ratio"] = json_of(report.self);
  all["noise_floor"] = noise_floor(report.self);
  if (report.comparison) all["compare"] = json_of(*report.comparison, report);
  if (report.profile) all["profile"] = json_of(*report.profile, report.rates);
  // Names of files and nodes may be any bytes.
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace aoe
