#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bank/entry.h"

namespace aoe {

// "policy", "layouts", "no gain"
std::string_view name(EntryKind kind);

// The fields of an entry by the names of their columns, with its kind, key and class of algorithms
// first.
nlohmann::ordered_json json_of(const BankEntry& entry);

// An entry as one line of JSON, and back: the form in which banks are exported, reviewed and
// imported. What follows from other fields (kind, key, numerics) need not be there. Throws Error
// for a line that is no entry, or one whose figures are impossible.
std::string line_of(const BankEntry& entry);
BankEntry parse_entry(const std::string& line);

}  // namespace aoe
