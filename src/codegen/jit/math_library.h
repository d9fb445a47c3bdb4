#pragma once

#include <span>
#include <string>

namespace aoe {

// A function outside the generated code that it may call.
struct LibraryFunction {
  std::string name;
  void* address;
};

// All of them: mathematics that is not inlined, under private names ("aoe_sinf": the code
// generator would otherwise make other calls of the C library's names), and what it calls by itself
// for copies and for roundings that an instruction set lacks.
std::span<const LibraryFunction> library_functions();

}  // namespace aoe
