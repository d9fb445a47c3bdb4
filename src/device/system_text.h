#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace aoe {

// What the system tells in small text files: whole and without white space at its end; empty if the
// file cannot be read.
std::string read_system_text(const std::filesystem::path& file);

std::vector<std::string> split_text(std::string_view text, char separator);

// "0-3,8" names five processors. What is no number is left out.
std::vector<int> parse_cpu_list(std::string_view text);

}  // namespace aoe
