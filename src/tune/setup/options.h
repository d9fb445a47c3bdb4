#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "bank/places.h"
#include "base/notice.h"
#include "base/numerics.h"
#include "base/shape.h"

namespace aoe {

// Effort of a job: high effort searches more candidates and tunes layouts too.
enum class Effort : uint8_t { normal, high };
// "O2" for normal and "O1" for high: the vendor's names, in the vendor's order.
std::string_view name(Effort effort);

// The kinds of operators that are tuned: cube operators (with contractions) and vector operators
// (all others).
struct TunedKinds {
  bool cube = true;
  bool vector = true;

  bool operator==(const TunedKinds&) const = default;
};

// Runs of a screening: half by the candidate, half by the baseline.
constexpr int kDefaultRuns = 10;

// Options of a tuning job, from the command line, the environment and aoe.ini. The values are valid
// in themselves; files and machine have not been inspected (preconditions.h does that).
struct TuneOptions {
  std::filesystem::path model;
  std::map<std::string, Shape> input_shapes;
  std::filesystem::path output;  // the tuned model, with its suffix; empty: in the work space
  // The work space of a job to resume; an empty path: the last unfinished one of this model.
  std::optional<std::filesystem::path> reload;
  std::optional<double> budget_s;
  Effort effort = Effort::normal;
  bool deeper = false;                  // --Fdeeper_opat
  bool formats = false;                 // --Fop_format, or high effort: tune layouts too
  std::optional<TunedKinds> auto_tune;  // --auto_tune_mode; unset: all kinds, result file of AOE
  int threads = 0;                      // that the model runs on; 0: all usable cores
  ImplMode impl;                        // algorithms that operators may use
  bool progress_bar = true;
  LogLevel log = LogLevel::warning;

  std::filesystem::path work_path = ".";   // parent of work spaces
  std::filesystem::path result_dir = ".";  // folder of result files
  int compile_jobs = 0;                    // compiling workers; 0: one per usable core, at most 8
  int measure_jobs = 1;                    // TUNING_PARALLEL_NUM; one worker measures regardless
  int run_loop = kDefaultRuns;             // RUN_LOOP in aoe.ini: runs of a screening
  bool repeat_tune = false;                // tune workloads that are in the bank again
  BankPlaces banks;
};

}  // namespace aoe
