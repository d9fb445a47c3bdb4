#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "base/shape.h"
#include "runtime/loaded_model.h"
#include "runtime/stored_policies.h"

namespace aoe {

// Options and messages that several commands share.

// Declares --op_select_implmode, --optypelist_for_implmode and --allow_strassen.
std::vector<CLI::Option*> add_impl_options(CLI::App& command, ImplMode& impl);

// Parses the value of --input_shape: "a:1,3,224,224;b:2".
std::map<std::string, Shape> parse_shapes(const std::string& text);

// "12 of 28 workloads by policies for 2 threads with avx512 from bank '/home/…/op.db'"; empty
// without a bank.
std::string bank_text(const StoredPolicies* policies);

// Number of kernels by the class of algorithms that they need. Empty for a model with open shapes:
// its kernels belong to runs.
std::map<Numerics, int> algorithms_of(const LoadedModel& model);
// "direct 18, winograd 3"
std::string algorithms_text(const std::map<Numerics, int>& counts);

// Fails if --output cannot be written or would overwrite the model. Called before any work.
void check_output(const std::string& output, const std::string& model);

// The value of --output for an .om file, with .om appended if missing. Fails as check_output does.
std::string om_output(const std::string& given, const std::string& model);

}  // namespace aoe
