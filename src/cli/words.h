#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace aoe {

// "32 KiB", "24 MiB", "7.8 GiB"
std::string size_text(int64_t bytes);

// "730 ns", "12.31 us", "4.217 ms"
std::string duration_text(double ns);

// A word of a command as it is typed: quoted if the shell would not read it as it stands.
std::string shell_word(const std::string& word);

// A rate relative to the measured peak: " (93 % of 118)"; empty if that is not known.
std::string share_text(double rate, double roof);

// "1 thread", "2 threads", "2 policies"
std::string count_text(int64_t count, std::string_view thing);

}  // namespace aoe
