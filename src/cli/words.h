#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace aoe {

// "32 KiB", "24 MiB", "7.8 GiB"
std::string size_text(int64_t bytes);

// "1 thread", "2 threads"
std::string count_text(int64_t count, std::string_view thing);

}  // namespace aoe
