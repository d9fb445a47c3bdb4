#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "bank/places.h"
#include "base/notice.h"
#include "base/shape.h"

namespace aoe {

// How hard is searched.
enum class Effort : uint8_t { normal, high };
// "O2" and "O1": the vendor's names, whose order is the vendor's.
std::string_view name(Effort effort);

// Which operators are tuned: those with contractions, and all others.
struct TunedKinds {
  bool cube = true;
  bool vector = true;

  bool operator==(const TunedKinds&) const = default;
};

// Runs of one measurement: of a candidate and of the baseline, half each.
constexpr int kDefaultRuns = 10;

// What a tuning job is to do, from the command line, the environment and aoe.ini. Everything has
// been checked against itself; nothing has been looked at yet.
struct TuneOptions {
  std::filesystem::path model;
  std::map<std::string, Shape> input_shapes;
  std::filesystem::path output;  // the tuned model, with its suffix; empty: in the work space
  std::optional<std::filesystem::path> reload;  // the work space of a job to go on with; empty: the
                                                // last one of this model
  std::optional<double> budget_s;
  Effort effort = Effort::normal;
  bool deeper = false;                  // --Fdeeper_opat
  bool formats = false;                 // --Fop_format, or high effort: tune layouts too
  std::optional<TunedKinds> auto_tune;  // --auto_tune_mode; nothing: all, and not as AutoTune
  int threads = 0;                      // at run time; 0: all cores this process may use
  bool progress_bar = true;
  LogLevel log = LogLevel::warning;

  std::filesystem::path work_path = ".";   // where the work space is made
  std::filesystem::path result_dir = ".";  // where result files go
  int compile_jobs = 0;                    // at once; 0: what the cores allow, at most 8
  int measure_jobs = 1;                    // at once
  int run_loop = kDefaultRuns;             // of aoe.ini
  bool repeat_tune = false;                // tune again what is in the bank
  BankPlaces banks;
};

}  // namespace aoe
