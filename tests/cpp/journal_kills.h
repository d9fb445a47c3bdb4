#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace aoe {

// Returns the answer to the job's request of that number; answers have many sizes.
std::string journal_answer(int64_t number);

// Lets a child process write a journal, kills it at a random moment and lets another one resume,
// `kills` times. The journal must always be intact and contain all entries that were reported as
// recorded, and at most one more. Returns a description of the first failure, if any.
std::optional<std::string> failure_of_kills(const std::filesystem::path& file, int kills,
                                            uint32_t seed);

}  // namespace aoe
