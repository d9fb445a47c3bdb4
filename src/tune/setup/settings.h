#pragma once

#include <string>
#include <string_view>

#include "base/environment.h"
#include "tune/setup/options.h"

namespace aoe {

// Reads what an aoe.ini says into the options: lines NAME = VALUE, comments behind # or ;. `file`
// names it in messages.
void read_ini(std::string_view text, const std::string& file, TuneOptions& options);

// aoe.ini, wherever it is, and then the environment, which wins.
void read_settings(const Environment& environment, TuneOptions& options);

// A whole number within bounds, or an error that names what it is for.
int number_within(const std::string& text, int low, int high, const std::string& what);

// AutoTune's modes: "GA" tunes cube operators, "RL" vector operators, "RL,GA" both, "NO_TUNE" none.
TunedKinds parse_auto_tune_mode(const std::string& text);

// "90s", "10m", "2h": seconds.
double parse_budget(const std::string& text);

}  // namespace aoe
