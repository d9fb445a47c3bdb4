#pragma once

#include <span>
#include <string>
#include <string_view>

namespace aoe {

// "; did you mean 'Conv'?" with the most similar of the known words, or nothing if none is similar:
// at most a third of the characters, or one, may be wrong. Upper and lower case are the same.
std::string did_you_mean(std::string_view word, std::span<const std::string> known);

}  // namespace aoe
