#pragma once

#include <string>
#include <string_view>

#include "base/environment.h"
#include "tune/setup/options.h"

namespace aoe {

// Reads the text of an aoe.ini into the options: lines NAME = VALUE, comments after # or ;.
// Messages name it as `file`.
void read_ini(std::string_view text, const std::string& file, TuneOptions& options);

// Reads aoe.ini, if there is one, and then the environment, which takes precedence.
void read_settings(const Environment& environment, TuneOptions& options);

// Parses a whole number within bounds; errors name it as `what`.
int number_within(const std::string& text, int low, int high, const std::string& what);

// AutoTune's modes: "GA" tunes cube operators, "RL" vector operators, "RL,GA" both, "NO_TUNE" none.
TunedKinds parse_auto_tune_mode(const std::string& text);

// Parses "90s", "10m" or "2h"; returns seconds.
double parse_budget(const std::string& text);

}  // namespace aoe
