#pragma once

#include <functional>
#include <map>
#include <tuple>

#include "backend/backend.h"

namespace aoe {

// Runs a nest for the outer points range[0] to range[1] - 1 and the positions range[2] to range[3]
// - 1 of its ranged axis. `rows` is private memory of the thread. Returns 0, or 1 if a loaded index
// was out of range.
using NestFunction = std::function<int(void* const* buffers, const int64_t* range, void* rows)>;
// Runs the tiles of a call.
using TileFunction = std::function<void(const TileCall*)>;

// The functions that a Program calls, machine code or interpreted, and the data that they need.
struct ProgramFunctions {
  std::vector<NestFunction> nests;
  std::vector<TileFunction> tiles;
  std::vector<Tensor> weights;  // packed
};

// An Executor runs the loops of a Program on the host's threads and calls the given functions.
class Executor : public CompiledProgram {
 public:
  Executor(Program program, ProgramFunctions functions, int vector_bytes);

  const Program& program() const override { return program_; }
  int64_t work_bytes() const override;
  bool run(void* const* values, std::byte* work, bool flush_denormals) const override;

 private:
  // One step of the integer arithmetic between calls.
  struct Operation {
    ExprOp op;
    int to, a, b;  // slots
  };
  struct Frame;

  int slot_of(const Expr& expr);
  static void do_operation(const Operation& operation, int64_t* slots);
  int64_t place_buffers(const For& loop, int64_t at);

  // Sets a loop variable and recomputes the slots that depend on it.
  void set(int variable, int64_t position, Frame& frame) const;
  void run_body(const std::vector<Stmt>& body, Frame& frame) const;
  void run(const For& loop, Frame& frame) const;
  void run(const NestCall& call, Frame& frame) const;
  void run(const ProductCall& call, Frame& frame) const;
  bool is_aligned(const Nest& nest, const Frame& frame) const;
  static int64_t end_of_uniform_tiles(const ProductCall& call, const RowTiles& tiles, int64_t tile);

  Program program_;
  ProgramFunctions functions_;
  int vector_bytes_;

  // Initial contents of the slots: variables first, then constants and results of operations.
  std::vector<int64_t> initial_;
  std::vector<std::vector<Operation>> operations_;  // by variable: run whenever it is set
  std::vector<int> decided_by_;  // by slot: the innermost variable it depends on, or -1
  std::map<std::tuple<ExprOp, int64_t, int, int>, int> known_;  // slots of equal expressions
  std::vector<int64_t> offsets_;  // by buffer: of thread buffers, in a thread's memory
  int64_t rows_at_ = 0;           // offset of a nest's rows in a thread's memory
  int64_t thread_bytes_ = 0;      // of each thread, a multiple of kWorkAlignment
};

}  // namespace aoe
