#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "base/value.h"

namespace aoe {

// A constant parameter of an operator. Subgraphs are not attributes here: the node holds them.
using Attribute = std::variant<int64_t, float, std::string, Tensor, ValueType, std::vector<int64_t>,
                               std::vector<float>, std::vector<std::string>, std::vector<Tensor>>;
using Attributes = std::map<std::string, Attribute, std::less<>>;

}  // namespace aoe
