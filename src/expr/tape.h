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

// The evaluator runs a stage in strips: runs of consecutive output points. Each node of the stage's
// expressions becomes one instruction that handles a whole strip, on registers that hold an element
// for each of its points.

// Points in a strip: enough to make an instruction's dispatch cheap, few enough for registers to
// stay in the first-level cache.
inline constexpr int64_t kStrip = 512;

// What a register's elements are. Narrower types live in these and are rounded or wrapped where
// their type says so.
enum class RegClass : uint8_t { f32, f64, i64, u64 };
RegClass reg_class(DType dtype);

// A strided load.
struct StridedLoad {
  int value = 0;                     // which tensor
  int64_t origin = 0;                // element at the point where all axes are 0
  std::vector<int64_t> out_strides;  // for each output axis
  std::vector<int64_t> reduce_strides;
  int padded = -1;  // reads this padded copy of the tensor instead
};

// A tensor with the margins that out-of-bounds loads see, made before the stage runs.
struct PaddedCopy {
  int value = 0;
  Shape low;  // index of the copy's first element along each axis; may be negative
  Shape extent;
  Expr outside;  // constant
};

struct Frame;

struct Instr {
  using Run = void (*)(const Instr&, Frame&);

  Run run = nullptr;
  int dst = -1;
  int a = -1;
  int b = -1;
  int c = -1;
  int load = -1;  // strided loads
  int64_t integer = 0;
  double number = 0;
  int value = -1;  // checked loads: the tensor, its index registers, the value outside
  std::vector<int> index = {};
};

// A stage, ready to run: the lists in the order in which they do. `setup` runs once; for each strip
// then `restart`, `outer`, `inner` at each position of the reduction, and `finish`.
struct Tape {
  int64_t out_rank = 0;
  std::vector<Instr> setup;    // once: constants
  std::vector<Instr> outer;    // for each strip
  std::vector<Instr> inner;    // for each strip and position of the reduction
  std::vector<Instr> finish;   // for each strip, after the reduction
  std::vector<Instr> restart;  // for each strip: accumulators to the identity
  std::vector<int> results;    // registers to store
  std::vector<StridedLoad> loads;
  std::vector<PaddedCopy> padded;
  std::vector<bool> axis_is_value;  // output axes whose position itself is computed with
  int register_count = 0;
};

Tape compile(const Workload& workload, const Stage& stage);

// What the instructions of a strip work on.
struct Frame {
  struct LoadState {
    const std::byte* base = nullptr;
    int64_t reduce_offset = 0;
    // In a linear strip element i is at origin + i x stride, else at offsets[i].
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

// Instruction selection, by what the registers hold. Null where the operation has no meaning.
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
// acc (f64) += f32 x f32, both loaded with strides: most of the work of most models.
Instr::Run multiply_add_instruction();

}  // namespace aoe
