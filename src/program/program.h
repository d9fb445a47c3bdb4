#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "policy/schedule.h"
#include "program/packed_weights.h"
#include "program/tile.h"

// A Program is the lowered form of a workload under a policy, with every decision made: buffers,
// loops and calls. Reading order: ProgramBuffer, NestCall and ProductCall (the two kinds of calls),
// For (the loops around them), Program. `build_program` (build.cpp) builds one, a Backend
// (backend/backend.h) compiles and runs it.

namespace aoe {

// An integer expression over the program's variables, which are its axes. The executor assigns a
// slot to its value. Without an expression it is absent.
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
    weights,  // prepacked, before the first run
    thread,   // private to a thread, for one iteration of a parallel loop
  };
  Place place = Place::value;
  DType dtype = DType::f32;
  int64_t elements = 0;
  int which = -1;  // storage of the value, or index into Program::weights
};

// The address of an element of a buffer. The offset may be negative: a call on a part of a matrix
// counts from where the whole matrix would begin.
struct Access {
  int buffer = -1;
  Index offset{0};
};

// Computes a range of a nest's outer points, which may be empty.
struct NestCall {
  size_t nest = 0;
  int plain = -1;  // the same nest without streaming, for memory that is not aligned; -1: none
  Index first, last;
  Index from, to;               // bounds of the ranged axis, if the nest has one
  std::vector<Access> buffers;  // in the order of Nest::buffers; absent for rows
};

// Multiplies rows x depth by depth x columns, register tile by register tile: the macro-kernel of a
// blocked product.
//
//            columns: tiles of `vectors` x `lanes`, the last one partial
//           +----+----+-+
//    rows   |tile|    | |   the rows of a line are divided evenly into tiles of at most
//   (lines) +----+----+-+   `tile.rows`; `lines` has the offset of each line
//           |    |    | |
//           +----+----+-+
struct ProductCall {
  Tile tile;         // the largest; those at the edges differ in rows, vectors and columns
  Index rows;        // of all lines
  int64_t line = 0;  // rows with a constant stride in the left side; 0: all of them
  Index first_tile, last_tile;  // range of row tiles; absent: all
  Index columns;
  Index depth;
  bool columns_first = true;  // all row tiles of a column panel first; else all panels of a tile

  // A packed left side has the layout [row tile][depth][row of the tile], and `left_row` is its
  // whole depth; the call begins at `first_depth`. In place, it has a row and a depth stride;
  // `lines` and `pieces` have the offsets of groups of `line` rows and of `piece` steps of depth.
  Access left;
  int64_t left_row = 0, left_depth = 0;
  std::vector<int64_t> lines{0};
  std::vector<int64_t> pieces{0};
  int64_t piece = 0;
  Index first_depth{0};

  Access right;
  int64_t right_depth = 0;
  int64_t right_panel = 0;  // elements from one column panel to the next

  Access out;
  int64_t out_row = 0;

  // `count` products of the same sizes, with constant strides (in elements) from one to the next.
  // The executor computes once for all of them what does not depend on addresses. A batch has
  // neither operands nor kept sums, and does not stream.
  struct Batch {
    int64_t count = 1;
    int64_t left = 0, right = 0, out = 0;
  };
  Batch batch;

  // Memory of partial sums, if the depth is split over several calls, or of sums that are kept in
  // addition to the results. `continues`: starts from the partial sums; `finishes`: stores results.
  Access sums;
  int64_t sums_row = 0;
  Index continues, finishes;

  // An operand of the epilogue, with its strides.
  struct Operand {
    Access at;
    int64_t row = 0, column = 0;
  };
  std::vector<Operand> operands;

  // The data to prefetch during the first column panel, and strides per panel and per step of the
  // depth. A `prefetch_depth` of 0: the row tiles each fetch a part of one panel.
  Access prefetch;
  int64_t prefetch_panel = 0;
  int64_t prefetch_depth = 0;

  // The tile of the program for blocks of these rows and vectors.
  struct Variant {
    int rows, vectors;
    bool partial, streaming;
    size_t tile;
  };
  std::vector<Variant> variants;
};

struct Stmt;

// A loop: variable = begin, begin + step, ... below end. Variables are numbered from the outside
// in. A parallel loop is outermost, begins at 0 and has independent iterations; a thread takes at
// least `grain` of them. With a `chunk_end`, the body runs once for all consecutive iterations that
// a thread takes, and that variable is their end.
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
  std::vector<std::string> nest_texts, tile_texts;  // texts of nests and tiles: keys of their code
  std::vector<For> body;                            // parallel loops, one after the other

  // The values of the workload that a loop reads or writes; may contain duplicates.
  std::vector<int> values_of(const For& loop) const;
};

// Builds the Program of a schedule. `policy` must be valid for it.
Program build_program(const Schedule& schedule, const Policy& policy, const Device& device,
                      int threads);

// Calls `visit` for every index, or every access, of a loop and of the loops inside it.
void for_each_index(For& loop, const std::function<void(Index&)>& visit);
void for_each_access(const For& loop, const std::function<void(const Access&)>& visit);

// Prints a short text, for people and golden tests (docs/program.md).
std::string to_string(const Program& program);

}  // namespace aoe
