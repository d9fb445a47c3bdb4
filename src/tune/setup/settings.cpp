#include "tune/setup/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "base/installation.h"

namespace aoe {
namespace {

namespace fs = std::filesystem;

constexpr int kMostMeasureJobs = 64;
constexpr int kMostCompileJobs = 32;
constexpr int kMostRuns = 2048;
constexpr double kLongestBudgetS = 30 * 24 * 3600.0;

std::string trimmed(std::string_view text) {
  constexpr std::string_view kWhite = " \t\r";
  const size_t first = text.find_first_not_of(kWhite);
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(kWhite) + 1 - first));
}

bool truth(const std::string& text, const std::string& what) {
  std::string lower = text;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  require(lower == "true" || lower == "false", "{} is '{}'; True or False is expected", what, text);
  return lower == "true";
}

// The first aoe.ini that exists, or an empty path. A file named by AOE_CONFIG must exist.
fs::path ini_file(const Environment& environment) {
  if (const std::string asked = environment("AOE_CONFIG"); !asked.empty()) {
    require(fs::is_regular_file(asked), "AOE_CONFIG is '{}', which is no file", asked);
    return asked;
  }
  fs::path config = environment("XDG_CONFIG_HOME");
  if (config.empty() && !environment("HOME").empty()) {
    config = fs::path(environment("HOME")) / ".config";
  }
  std::error_code error;
  for (const fs::path& file : {config / "aoe" / "aoe.ini", installation_folder() / "aoe.ini"}) {
    if (file.is_absolute() && fs::is_regular_file(file, error)) return file;
  }
  return {};
}

std::string contents(const fs::path& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  require(static_cast<bool>(stream), "'{}' cannot be read", file.string());
  return text.str();
}

}  // namespace

std::string_view name(Effort effort) { return effort == Effort::high ? "O1" : "O2"; }

int number_within(const std::string& text, int low, int high, const std::string& what) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  require(whole && number >= low && number <= high,
          "{} is '{}'; a number from {} to {} is expected", what, text, low, high);
  return number;
}

TunedKinds parse_auto_tune_mode(const std::string& text) {
  if (text == "NO_TUNE") return {false, false};
  if (text == "GA") return {true, false};
  if (text == "RL") return {false, true};
  require(
      text == "RL,GA" || text == "GA,RL",
      "--auto_tune_mode is '{}'; NO_TUNE, RL (vector operators), GA (cube operators) or RL,GA is "
      "expected",
      text);
  return {true, true};
}

double parse_budget(const std::string& text) {
  double number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  const std::string_view unit(end, static_cast<size_t>(last - end));
  const double seconds = unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  const double budget = number * seconds;
  require(error == std::errc{} && budget > 0 && budget <= kLongestBudgetS,
          "--budget is '{}'; a time such as 90s, 10m or 2h is expected, at most 30 days", text);
  return budget;
}

void read_ini(std::string_view text, const std::string& file, TuneOptions& options) {
  std::istringstream lines{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::string said = trimmed(line.substr(0, line.find_first_of("#;")));
    if (said.empty() || said.starts_with('[')) continue;
    const std::string place = fmt::format("'{}', line {}", file, number);
    const size_t equals = said.find('=');
    require(equals != std::string::npos, "{}: '{}' is not NAME = VALUE", place, said);
    const std::string name = trimmed(said.substr(0, equals));
    const std::string value = trimmed(said.substr(equals + 1));
    const std::string what = fmt::format("{}: {}", place, name);
    if (name == "WORK_PATH") {
      require(!value.empty(), "{} is empty; a folder is expected", what);
      options.work_path = value;
    } else if (name == "TUNING_PARALLEL_NUM") {
      options.measure_jobs = number_within(value, 1, kMostMeasureJobs, what);
    } else if (name == "RUN_LOOP") {
      options.run_loop = number_within(value, 1, kMostRuns, what);
    } else {
      fail("{} is not known; WORK_PATH, TUNING_PARALLEL_NUM and RUN_LOOP are", what);
    }
  }
}

void read_settings(const Environment& environment, TuneOptions& options) {
  if (const fs::path file = ini_file(environment); !file.empty()) {
    read_ini(contents(file), file.string(), options);
  }
  const auto set = [&](const char* name, const auto& use) {
    if (const std::string value = environment(name); !value.empty()) use(value, name);
  };
  options.result_dir = options.work_path;
  set("ASCEND_WORK_PATH", [&](const std::string& value, auto) { options.result_dir = value; });
  set("ASCEND_DEVICE_ID",
      [](const std::string& value, const char* name) { number_within(value, 0, 0, name); });
  set("TE_PARALLEL_COMPILER", [&](const std::string& value, const char* name) {
    options.compile_jobs = number_within(value, 1, kMostCompileJobs, name);
  });
  set("TUNING_PARALLEL_NUM", [&](const std::string& value, const char* name) {
    options.measure_jobs = number_within(value, 1, kMostMeasureJobs, name);
  });
  set("REPEAT_TUNE", [&](const std::string& value, const char* name) {
    options.repeat_tune = truth(value, name);
  });
}

}  // namespace aoe
