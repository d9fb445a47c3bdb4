#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace aoe {

// The answer that the job below is always given to its request of that number; of many sizes.
std::string journal_answer(int64_t number);

// Has a child process write a journal, kills it at a random moment, and has another one go on, so
// many times: the journal must always be whole, hold all that the child was told is recorded, and
// at most one entry more. What was wrong, if anything was.
std::optional<std::string> failure_of_kills(const std::filesystem::path& file, int kills,
                                            uint32_t seed);

}  // namespace aoe
