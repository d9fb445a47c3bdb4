#pragma once

#include <span>
#include <string>

namespace aoe {

// A function that generated code may call.
struct LibraryFunction {
  std::string name;
  void* address;
};

// Returns all of these functions: mathematical ones that are not inlined, under private names
// ("aoe_sinf"), because LLVM may replace calls of functions with the C library's names by others;
// and the functions that LLVM itself calls, for copies and for roundings that an instruction set
// lacks.
std::span<const LibraryFunction> library_functions();

}  // namespace aoe
