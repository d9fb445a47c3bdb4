#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "expr/workload.h"

namespace aoe {

// Finds the contents of a constant that a text names only by its hash; fails if it cannot.
using ContentsLookup = std::function<Tensor(uint64_t hash)>;

// The workload that a text says, verified: the inverse of `to_string`. Equal subexpressions of a
// stage become one node. Texts may come from anywhere: what is wrong with one is an Error that
// says where and what is expected, and size and depth have limits. Without `lookup`, a constant
// whose contents are not in the text is an error.
Workload parse_workload(std::string_view text, const ContentsLookup& lookup = {});

}  // namespace aoe
