#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>
namespace aoe {
enum class InstructionSet : uint8_t { sse2, avx2, avx512 };
inline std::string_view name(InstructionSet s) { return s==InstructionSet::sse2?"sse2":s==InstructionSet::avx2?"avx2":"avx512"; }
struct Device {
  InstructionSet instruction_set = InstructionSet::avx512;
  int vector_bytes = 64;
  int vector_registers = 32;
};
}
