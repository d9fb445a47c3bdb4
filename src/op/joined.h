#pragma once

#include <type_traits>
#include <vector>

namespace aoe {

// Concatenates two vectors: shapes and indexes are often a few leading axes followed by the rest.
template <typename T>
std::vector<T> joined(std::vector<T> first, const std::vector<std::type_identity_t<T>>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace aoe
