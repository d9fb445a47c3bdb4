#pragma once

#include <nanobind/nanobind.h>

namespace aoe {

// The functions about banks that aoe._bank is made of: entries and exports as lines of JSON.
void add_bank_functions(nanobind::module_& module);

}  // namespace aoe
