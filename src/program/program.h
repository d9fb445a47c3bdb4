#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "policy/schedule.h"
#include "program/packed_weights.h"
#include "program/tile.h"

// A Program is what a workload and a policy come to, with every decision made: buffers, loops and
// calls. To read in this order: ProgramBuffer, NestCall and ProductCall (the two kinds of calls),
// For (the loops around them), Program. `build_program` (build.cpp) makes one, a Backend
// (backend/backend.h) compiles and runs it.

namespace aoe {

// An integer over the program's variables, which are the axes of the expression. The executor gives
// it a slot; without an expression it is absent.
struct Index {
  Expr expr;
  int slot = -1;

  Index() = default;
  Index(Expr e) : expr(std::move(e)) {}
  Index(int64_t value) : expr(Expr::integer(DType::i64, value)) {}
  explicit operator bool() const { return static_cast<bool>(expr); }
};

// Memory that calls read and write.
struct ProgramBuffer {
  enum class Place : uint8_t {
    value,    // a value of the scheduled workload: an argument, a constant, or in the arena
    weights,  // packed once, before the first run
    thread,   // private to a thread, for one iteration of a parallel loop
  };
  Place place = Place::value;
  DType dtype = DType::f32;
  int64_t elements = 0;
  int which = -1;  // the value's storage, or the packed weights
};

// A buffer from an element on. The offset may lie before the buffer: a call on a part of the whole
// counts from where the whole would begin.
struct Access {
  int buffer = -1;
  Index offset{0};
};

// Computes a range of a nest's outer points; nothing if it is empty.
struct NestCall {
  size_t nest = 0;
  int plain = -1;  // the same nest without stores past the caches, which need aligned memory
  Index first, last;
  Index from, to;               // bounds of the ranged axis, if the nest has one
  std::vector<Access> buffers;  // as the nest lists them; none for rows
};

// Multiplies rows x depth by depth x columns, register tile by register tile: the macro-kernel of a
// blocked product.
//
//            columns: tiles of `vectors` x `lanes`, the last one partial
//           +----+----+-+
//    rows   |tile|    | |   rows of a line are shared out evenly over tiles of at most `rows`;
//   (lines) +----+----+-+   lines begin where `lines` says
//           |    |    | |
//           +----+----+-+
struct ProductCall {
  Tile tile;         // the largest; those at the edges differ in rows, vectors and columns
  Index rows;        // in all
  int64_t line = 0;  // rows at an even distance from each other; 0: all of them
  Index first_tile, last_tile;  // of the rows; absent: all
  Index columns;
  Index depth;
  bool columns_first = true;  // all rows for a tile of columns before the next

  // A packed left side has `left_row` numbers for each row of a tile, row by row for each depth,
  // from `first_depth` on. One in pieces has the depth of `piece` each.
  Access left;
  int64_t left_row = 0, left_depth = 0;
  std::vector<int64_t> lines{0};
  std::vector<int64_t> pieces{0};
  int64_t piece = 0;
  Index first_depth{0};

  Access right;
  int64_t right_depth = 0;
  int64_t right_panel = 0;  // elements from one tile of columns to the next

  Access out;
  int64_t out_row = 0;

  // So many products of the same sizes, each so many elements behind the one before it. What does
  // not depend on addresses is found once for all of them. A batch has neither operands nor kept
  // sums, and does not stream.
  struct Batch {
    int64_t count = 1;
    int64_t left = 0, right = 0, out = 0;
  };
  Batch batch;

  // Partial sums, where the depth comes in several calls or sums are kept beside the results.
  Access sums;
  int64_t sums_row = 0;
  Index continues, finishes;

  struct Operand {
    Access at;
    int64_t row = 0, column = 0;
  };
  std::vector<Operand> operands;

  // What is fetched meanwhile: for a tile of columns from `prefetch` on, `prefetch_depth` elements
  // apart for each depth. 0: tiles of rows share a panel.
  Access prefetch;
  int64_t prefetch_panel = 0;
  int64_t prefetch_depth = 0;

  // Which of the program's tiles runs a block of so many rows and vectors.
  struct Variant {
    int rows, vectors;
    bool partial, streaming;
    size_t tile;
  };
  std::vector<Variant> variants;
};

struct Stmt;

// variable = begin, begin + step, ... below end. Variables are numbered from the outside in.
// Iterations of a parallel loop, which begins at 0 and is in no other, are independent; a thread
// takes at least `grain` of them. With a `chunk_end` the body runs once for all that a thread
// takes, and that variable is their end.
struct For {
  int variable = 0;
  Index begin{0}, end;
  int64_t step = 1;
  bool parallel = false;
  int64_t grain = 1;
  int chunk_end = -1;
  std::vector<Stmt> body;

  Expr index() const { return Expr::axis(variable); }
};

struct Stmt : std::variant<For, NestCall, ProductCall> {
  using variant::variant;
};

struct Program {
  int threads = 1;
  int variables = 0;
  std::vector<ProgramBuffer> buffers;
  std::vector<PackedWeights> weights;
  std::vector<Nest> nests;
  std::vector<Tile> tiles;
  std::vector<std::string> nest_texts, tile_texts;  // what their code depends on: its cache key
  std::vector<For> body;                            // parallel loops, one after the other

  // Values of the workload that a loop reads or writes.
  std::vector<int> values_of(const For& loop) const;
};

// `policy` must be valid for the schedule.
Program build_program(const Schedule& schedule, const Policy& policy, const Device& device,
                      int threads);

// Calls `visit` for every index of a loop, in those inside it too, and for every access.
void for_each_index(For& loop, const std::function<void(Index&)>& visit);
void for_each_access(const For& loop, const std::function<void(const Access&)>& visit);

// As short text, for people and golden tests.
std::string to_string(const Program& program);

}  // namespace aoe
