#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace aoe {

// One test case per seed: a random workload with a random valid policy (a pair), on an instruction
// set of this machine, with one or two threads, and with inputs and outputs next to guard pages.

// `announce` receives the texts of workload and policy before a pair runs, because code that leaves
// its buffers ends the process.
using Announce = void (*)(uint64_t seed, const std::string& text);

// Properties of a pair.
struct PairKind {
  bool strips = false;  // some stages are computed by strips
  bool halo = false;    // some strips overlap
};

// Compares the reference, the Program on the interpreter, and machine code. Returns a description
// of the failure with both texts, if there is one.
std::optional<std::string> failure_of_pair(uint64_t seed, Announce announce = nullptr,
                                           PairKind* kind = nullptr);

}  // namespace aoe
