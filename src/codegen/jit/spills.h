#pragma once

namespace llvm {
class Pass;
}

namespace aoe {

// Returns a pass over finished machine code that adds to `count` the instructions in innermost
// loops that store a vector register to the stack or reload one, also as a memory operand of
// another instruction. The register allocator marks its spill slots, and later passes keep these
// marks.
llvm::Pass* count_spills_pass(int& count);

}  // namespace aoe
