#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "expr/affine.h"
#include "expr/workload.h"

namespace aoe {

// The evaluator runs a stage in strips of consecutive output points. Each node of the stage's
// expressions becomes one instruction that processes a whole strip, on registers that hold one
// element per point.

// Points in a strip: enough to make the dispatch of an instruction cheap, few enough for registers
// to stay in the first-level cache.
inline constexpr int64_t kStrip = 512;

// Element type of a register. Narrower types are computed in these and rounded or wrapped to their
// type after each operation.
enum class RegClass : uint8_t { f32, f64, i64, u64 };
RegClass reg_class(DType dtype);

// A load whose offset is affine in the axes.
struct StridedLoad {
  int value = 0;                     // the tensor
  int64_t origin = 0;                // offset where all axes are 0
  std::vector<int64_t> out_strides;  // per output axis
  std::vector<int64_t> reduce_strides;
  int padded = -1;  // index in Tape::padded of the copy to read instead of the tensor; or -1
};

// A copy of a tensor with the margins that out-of-bounds loads read, made before the stage runs.
struct PaddedCopy {
  int value = 0;
  Shape low;  // index of the copy's first element along each axis; may be negative
  Shape extent;
  Expr outside;  // constant
};

struct Frame;

// An instruction of a tape: its function, and the registers and constants that it works on.
struct Instr {
  using Run = void (*)(const Instr&, Frame&);

  Run run = nullptr;
  int dst = -1;  // registers; of a multiply-add, a and b are loads
  int a = -1;
  int b = -1;
  int c = -1;
  int load = -1;  // of strided loads: index in Tape::loads
  int64_t integer = 0;
  double number = 0;
  int value = -1;               // of checked loads: the tensor; a is the value outside, b the guard
  std::vector<int> index = {};  // of checked loads: index registers
};

// A stage compiled to lists of instructions. `setup` runs once per range of points; then, for each
// strip, `restart`, `outer`, `inner` at each position of the reduction, and `finish`.
struct Tape {
  int64_t out_rank = 0;
  std::vector<Instr> setup;    // constants
  std::vector<Instr> outer;    // expressions that do not vary in the reduction
  std::vector<Instr> inner;    // elements and their combination
  std::vector<Instr> finish;   // results
  std::vector<Instr> restart;  // sets accumulators to the identity
  std::vector<int> results;    // registers to store
  std::vector<StridedLoad> loads;
  std::vector<PaddedCopy> padded;
  std::vector<bool> axis_is_value;  // output axes whose position is used outside of strided loads
  int register_count = 0;
};

Tape compile(const Workload& workload, const Stage& stage);

// The state that the instructions of a strip read and write.
struct Frame {
  struct LoadState {
    const std::byte* base = nullptr;
    int64_t reduce_offset = 0;
    // In a linear strip element i is at origin + i * stride, else at offsets[i].
    int64_t origin = 0;
    int64_t stride = 0;
    std::vector<int64_t> offsets;
  };

  int64_t count = 0;                            // points in this strip
  bool linear = true;                           // the strip lies along one axis
  std::vector<std::vector<int64_t>> positions;  // along each output axis used as a value
  std::vector<int64_t> reduce_position;
  std::vector<LoadState> loads;
  const std::vector<Tensor>* tensors = nullptr;
  std::unique_ptr<double[]> registers;  // kStrip elements of eight bytes each

  template <typename T>
  T* reg(int which) {
    static_assert(sizeof(T) <= sizeof(double));
    return reinterpret_cast<T*>(registers.get() + which * kStrip);
  }
};

// Instruction selection by the class of the registers. Null if the operation is not defined for it.
Instr::Run unary_instruction(ExprOp op, RegClass type);
Instr::Run binary_instruction(ExprOp op, RegClass type);
Instr::Run select_instruction(RegClass type);
Instr::Run convert_instruction(RegClass from, RegClass to);
Instr::Run narrow_instruction(
    DType dtype);  // rounds or wraps a register to a narrower type; or null
Instr::Run round_instruction(RegClass from, DType to);  // to a small float; or null
Instr::Run constant_instruction(RegClass type);
Instr::Run axis_instruction(bool reduced);
Instr::Run copy_instruction();
Instr::Run strided_load_instruction(DType dtype);
Instr::Run checked_load_instruction(DType dtype);
// acc (f64) += f32 * f32 of two strided loads: most of the work of most models.
Instr::Run multiply_add_instruction();

}  // namespace aoe
