#pragma once

#include <map>
#include <string>

#include "base/shape.h"
#include "runtime/stored_policies.h"

namespace aoe {

// What several commands that take a model understand alike.

// "a:1,3,224,224;b:2"
std::map<std::string, Shape> parse_shapes(const std::string& text);

// "12 of 28 workloads by policies from bank '/home/…/op.db'"; nothing where there is no bank.
std::string bank_text(const StoredPolicies* policies);

// Before any work: whether a file can be written there without harm.
void check_output(const std::string& output, const std::string& model);

// The name of an .om file to write as it was given, .om appended; checked in the same way.
std::string om_output(const std::string& given, const std::string& model);

}  // namespace aoe
