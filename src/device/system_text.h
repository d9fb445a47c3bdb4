#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace aoe {

// Returns the contents of a small text file of the system (/proc, /sys) without trailing white
// space; empty if it cannot be read.
std::string read_system_text(const std::filesystem::path& file);

std::vector<std::string> split_text(std::string_view text, char separator);

// Parses a list of processors: "0-3,8" has five. Parts that are not numbers are skipped.
std::vector<int> parse_cpu_list(std::string_view text);

}  // namespace aoe
