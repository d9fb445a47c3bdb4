#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "expr/workload.h"

namespace aoe {

// Returns the contents of a constant that a text represents by its hash; fails if it has none.
using ContentsLookup = std::function<Tensor(uint64_t hash)>;

// Parses and verifies the text of a workload: the inverse of `to_string`. Equal subexpressions of a
// stage become one node. Texts may come from untrusted sources: size and depth are limited, and an
// Error says where a text is wrong and what is expected. Without `lookup`, a constant whose
// contents are not in the text is an error.
Workload parse_workload(std::string_view text, const ContentsLookup& lookup = {});

}  // namespace aoe
