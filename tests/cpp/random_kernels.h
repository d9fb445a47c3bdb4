#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace aoe {

// What is tried with one seed: a random workload, a random valid policy, an instruction set of this
// machine, one or two threads, and inputs and outputs that lie against memory nobody may touch.

// Before a pair runs, `announce` is told the workload's and the policy's text: code that leaves its
// buffers ends the process.
using Announce = void (*)(uint64_t seed, const std::string& text);

// What a pair was.
struct PairKind {
  bool strips = false;  // stages inside a loop over strips
  bool halo = false;    // that make for a strip what its neighbours make, too
};

// What is wrong with the pair of this seed, with both texts; nothing if all is well. The reference,
// the Program on the interpreter, and machine code are compared.
std::optional<std::string> failure_of_pair(uint64_t seed, Announce announce = nullptr,
                                           PairKind* kind = nullptr);

}  // namespace aoe
