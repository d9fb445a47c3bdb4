#pragma once

namespace llvm {
class Pass;
}

namespace aoe {

// A pass over finished machine code that adds to `count` the instructions inside loops that store a
// vector register to the stack or bring one back, also as an operand of another instruction. The
// register allocator marks the slots it spills to, and the marks outlive every later pass.
llvm::Pass* count_spills_pass(int& count);

}  // namespace aoe
