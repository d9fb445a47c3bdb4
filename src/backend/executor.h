#pragma once

#include <functional>
#include <map>
#include <tuple>

#include "backend/backend.h"

namespace aoe {

// What runs a nest: for the outer points from range[0] to range[1], and positions of its ranged
// axis from range[2] to range[3]. `rows` is private memory of the thread. Gives 0, or 1 if a loaded
// index was out of range.
using NestFunction = std::function<int(void* const* buffers, const int64_t* range, void* rows)>;
// What runs tiles.
using TileFunction = std::function<void(const TileCall*)>;

// What a Program's calls come to: machine code, or an interpreter's functions.
struct ProgramFunctions {
  std::vector<NestFunction> nests;
  std::vector<TileFunction> tiles;
  std::vector<Tensor> weights;  // packed
};

// Runs a Program's loops on the host's threads, and its calls by the functions it is given.
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

  // The variable, and all that it decides.
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

  std::vector<int64_t> initial_;                    // slots: variables, then what is made of them
  std::vector<std::vector<Operation>> operations_;  // for each variable: what it decides
  std::vector<int> decided_by_;                     // of slots: the variable that decides, or -1
  std::map<std::tuple<ExprOp, int64_t, int, int>, int> known_;  // slots of operations
  std::vector<int64_t> offsets_;                                // of thread buffers
  int64_t rows_at_ = 0;       // where a nest's rows begin in a thread's memory
  int64_t thread_bytes_ = 0;  // of each thread, a multiple of kWorkAlignment
};

}  // namespace aoe
