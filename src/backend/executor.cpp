#include "backend/executor.h"

#include <atomic>
#include <cassert>
#include <cstring>
#include <optional>

#include "base/parallel.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Runs a Program: parallel loops one after the other, in each of them loops and calls of machine
// code. In reading order:
//   Executor, slot_of        compile the integer arithmetic between calls to operations on slots
//   run(values, ...)         the parallel loops; sets up each thread's memory
//   run(For), run(NestCall)  what a parallel loop contains
//   run(ProductCall)         the macro-kernel: goes over the tiles of a block
//
// Every index is a slot. A slot that depends on loop variables is computed when the innermost of
// them changes (`set`), that is in the outermost loop in which all operands are known; equal
// expressions share a slot. Between two tiles there is next to nothing left to compute.
//
// The memory of one thread, each part aligned to a cache line:
//
//   +-------+------------+--------------+------------------+---------------+
//   | slots | addresses  | buffer list  | thread buffers   | rows of       |
//   |       | of buffers | of one nest  | of one parallel  | one nest      |
//   |       |            |              | loop             |               |
//   +-------+------------+--------------+------------------+---------------+
//   0                                   `lists`            `rows_at_`      `thread_bytes_`
//
// Thread buffers of different parallel loops overlap: they never run at the same time.
//
// Invariant: after construction nothing in the Executor changes. All state of a run is in the
// caller's `work` memory and in `failed`, so that several threads may run one Executor.

namespace aoe {
namespace {

// Treats denormals as zero while it exists: arithmetic on them takes microcode assists of some
// hundred cycles each. The caller's mode is restored, since it belongs to the application.
class FlushDenormals {
 public:
#if defined(__x86_64__)
  FlushDenormals() : before_(_mm_getcsr()) {
    constexpr unsigned kFlushToZero = 0x8000;
    constexpr unsigned kDenormalsAreZero = 0x0040;
    _mm_setcsr(before_ | kFlushToZero | kDenormalsAreZero);
  }
  ~FlushDenormals() { _mm_setcsr(before_); }
#else
  FlushDenormals() = default;
#endif
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__x86_64__)
  unsigned before_;
#endif
};

// Streaming stores are weakly ordered: other threads see them for certain only after a fence.
void finish_streaming_stores() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace

[[gnu::always_inline]] inline void Executor::do_operation(const Operation& operation,
                                                          int64_t* slots) {
  const int64_t a = slots[operation.a];
  const int64_t b = slots[operation.b];
  int64_t& to = slots[operation.to];
  switch (operation.op) {
    case ExprOp::add: to = a + b; break;
    case ExprOp::sub: to = a - b; break;
    case ExprOp::mul: to = a * b; break;
    case ExprOp::div: to = a / b; break;
    case ExprOp::mod: to = a % b; break;  // operands are never negative
    case ExprOp::min: to = std::min(a, b); break;
    case ExprOp::max: to = std::max(a, b); break;
    case ExprOp::lt: to = a < b ? 1 : 0; break;
    default: assert(false && "no arithmetic of a program");
  }
}

// Pointers into the memory of a thread (see above) while it runs iterations of a parallel loop.
struct Executor::Frame {
  int64_t* slots;
  std::byte** bases;  // addresses of buffers
  void** list;        // buffer list of one nest
  std::byte* rows;
  std::atomic<int>* failed;

  int64_t operator[](const Index& index) const { return slots[index.slot]; }
};

Executor::Executor(Program program, ProgramFunctions functions, int vector_bytes)
    : program_(std::move(program)),
      functions_(std::move(functions)),
      vector_bytes_(vector_bytes),
      initial_(static_cast<size_t>(program_.variables)),
      operations_(static_cast<size_t>(program_.variables)),
      offsets_(program_.buffers.size()) {
  // The first slots are the variables, and each is decided by itself.
  for (int v = 0; v < program_.variables; ++v) decided_by_.push_back(v);
  for (For& loop : program_.body) {
    for_each_index(loop, [&](Index& index) {
      if (index) index.slot = slot_of(index.expr);
    });
  }
  const auto words = [](size_t count) {
    return aligned_work(static_cast<int64_t>(count * sizeof(void*)));
  };
  size_t most = 1;
  int64_t rows = 0;
  for (const Nest& nest : program_.nests) {
    most = std::max(most, nest.buffers.size());
    rows = std::max(rows, aligned_work(nest.row_bytes()));
  }
  const int64_t lists = words(initial_.size()) + words(program_.buffers.size()) + words(most);
  rows_at_ = lists;
  for (const For& loop : program_.body) rows_at_ = std::max(rows_at_, place_buffers(loop, lists));
  thread_bytes_ = rows_at_ + rows;
}

int64_t Executor::work_bytes() const { return checked_mul(thread_bytes_, program_.threads); }

// Places the thread buffers of a parallel loop one after the other from offset `at` on, since all
// are in use at the same time. Returns the offset of their end.
int64_t Executor::place_buffers(const For& loop, int64_t at) {
  std::vector<bool> used(program_.buffers.size());
  for_each_access(loop, [&](const Access& access) {
    if (access.buffer >= 0) used[static_cast<size_t>(access.buffer)] = true;
  });
  for (size_t i = 0; i < used.size(); ++i) {
    const ProgramBuffer& buffer = program_.buffers[i];
    if (!used[i] || buffer.place != ProgramBuffer::Place::thread) continue;
    offsets_[i] = at;
    at = checked_add(at, aligned_work(checked_mul(buffer.elements, info(buffer.dtype).bytes)));
  }
  return at;
}

// Variables are numbered from the outside in, so the largest one among the operands is the
// innermost loop, whose iterations have to recompute the slot. Operands get their slots first:
// operations of one variable are in an order in which they can be run. Without variables the
// operation is done here, once.
int Executor::slot_of(const Expr& expr) {
  if (expr->op == ExprOp::axis) return static_cast<int>(expr->id);
  int operands[2] = {-1, -1};
  int variable = -1;
  assert(expr->operands.size() <= 2);
  for (size_t i = 0; i < expr->operands.size(); ++i) {
    operands[i] = slot_of(expr->operands[i]);
    variable = std::max(variable, decided_by_[static_cast<size_t>(operands[i])]);
  }
  const Operation operation{expr->op, static_cast<int>(initial_.size()), operands[0], operands[1]};
  const auto [known, fresh] =
      known_.emplace(std::tuple{expr->op, expr->id, operands[0], operands[1]}, operation.to);
  if (!fresh) return known->second;
  initial_.push_back(expr->id);
  decided_by_.push_back(variable);
  if (variable >= 0) operations_[static_cast<size_t>(variable)].push_back(operation);
  else if (!expr.is_constant()) do_operation(operation, initial_.data());
  return operation.to;
}

bool Executor::run(void* const* values, std::byte* work, bool flush_denormals) const {
  std::atomic<int> failed = 0;
  const auto slots_bytes = aligned_work(static_cast<int64_t>(initial_.size() * sizeof(int64_t)));
  const auto bases_bytes =
      aligned_work(static_cast<int64_t>(program_.buffers.size() * sizeof(void*)));
  for (const For& loop : program_.body) {
    const auto body = [&](int64_t first, int64_t last, int worker) {
      std::optional<FlushDenormals> flush;
      if (flush_denormals) flush.emplace();
      std::byte* const memory = work + worker * thread_bytes_;
      Frame frame{
          reinterpret_cast<int64_t*>(memory), reinterpret_cast<std::byte**>(memory + slots_bytes),
          reinterpret_cast<void**>(memory + slots_bytes + bases_bytes), memory + rows_at_, &failed};
      std::memcpy(frame.slots, initial_.data(), initial_.size() * sizeof(int64_t));
      for (size_t i = 0; i < program_.buffers.size(); ++i) {
        const ProgramBuffer& buffer = program_.buffers[i];
        const auto which = static_cast<size_t>(buffer.which);
        switch (buffer.place) {
          case ProgramBuffer::Place::value:
            frame.bases[i] = static_cast<std::byte*>(values[which]);
            break;
          case ProgramBuffer::Place::weights:
            frame.bases[i] = const_cast<std::byte*>(functions_.weights[which].raw());
            break;
          case ProgramBuffer::Place::thread: frame.bases[i] = memory + offsets_[i]; break;
        }
      }
      // With a chunk_end the body runs once for the whole range: a nest takes a range of points.
      const int64_t end = loop.chunk_end >= 0 ? first + 1 : last;
      for (int64_t i = first; i < end; ++i) {
        set(loop.variable, i, frame);
        if (loop.chunk_end >= 0) set(loop.chunk_end, last, frame);
        run_body(loop.body, frame);
      }
      finish_streaming_stores();
    };
    parallel_for(initial_[static_cast<size_t>(loop.end.slot)], loop.grain, program_.threads, body);
  }
  return failed == 0;
}

void Executor::set(int variable, int64_t position, Frame& frame) const {
  frame.slots[variable] = position;
  for (const Operation& operation : operations_[static_cast<size_t>(variable)]) {
    do_operation(operation, frame.slots);
  }
}

void Executor::run_body(const std::vector<Stmt>& body, Frame& frame) const {
  for (const Stmt& statement : body) {
    if (const auto* product = std::get_if<ProductCall>(&statement)) run(*product, frame);
    else if (const auto* nest = std::get_if<NestCall>(&statement)) run(*nest, frame);
    else run(std::get<For>(statement), frame);
  }
}

void Executor::run(const For& loop, Frame& frame) const {
  assert(!loop.parallel && "parallel loops are a program's outermost ones");
  const int64_t end = frame[loop.end];
  for (int64_t i = frame[loop.begin]; i < end; i += loop.step) {
    set(loop.variable, i, frame);
    run_body(loop.body, frame);
  }
}

void Executor::run(const NestCall& call, Frame& frame) const {
  const int64_t range[] = {frame[call.first], frame[call.last], call.from ? frame[call.from] : 0,
                           call.to ? frame[call.to] : 0};
  if (range[0] >= range[1] || (call.from && range[2] >= range[3])) return;
  const Nest& nest = program_.nests[call.nest];
  for (size_t i = 0; i < call.buffers.size(); ++i) {
    const auto& [buffer, offset] = call.buffers[i];
    if (buffer < 0) continue;
    frame.list[i] =
        frame.bases[buffer] + frame[offset] * int64_t{info(nest.buffers[i].dtype).bytes};
  }
  const NestFunction* function = &functions_.nests[call.nest];
  // Streaming stores need the alignment of a whole register. Arguments of the caller need not have
  // it: the same nest with plain stores runs then.
  if (call.plain >= 0 && !is_aligned(nest, frame)) {
    function = &functions_.nests[static_cast<size_t>(call.plain)];
  }
  if ((*function)(frame.list, range, frame.rows) != 0) *frame.failed = 1;
}

bool Executor::is_aligned(const Nest& nest, const Frame& frame) const {
  for (const Loop& loop : nest.loops) {
    if (!loop.policy.streaming) continue;
    for (const NestStore& store : loop.stores) {
      if (nest.buffers[static_cast<size_t>(store.buffer)].row) continue;
      const auto address = reinterpret_cast<uintptr_t>(frame.list[store.buffer]);
      if (address % static_cast<uintptr_t>(vector_bytes_) != 0) return false;
    }
  }
  return true;
}

// Fields of `to` that are the same for all tiles are set once. A tile function runs several tiles
// in a call: either tiles of rows below each other, which use the same panel of B while it is in a
// cache near the core (columns_first), or tiles of columns side by side, with the same rows of A.
//
//   columns_first:  column 0: tiles 0, 1, 2 ...    otherwise:  tile 0: columns 0, 1, 2 ...
//                   column 1: tiles 0, 1, 2 ...                tile 1: columns 0, 1, 2 ...
void Executor::run(const ProductCall& call, Frame& frame) const {
  const int64_t rows = frame[call.rows];
  if (rows == 0) return;
  const RowTiles tiles(rows, call.line > 0 ? call.line : rows, call.tile.rows);
  const int64_t first_tile = call.first_tile ? frame[call.first_tile] : 0;
  const int64_t last_tile = call.last_tile ? frame[call.last_tile] : tiles.count;
  if (first_tile >= last_tile) return;
  const int64_t left_bytes = info(call.tile.dot.left).bytes;
  const int64_t right_bytes = info(call.tile.dot.right).bytes;
  const int64_t sum_bytes = info(call.tile.sums_dtype()).bytes;
  const int64_t out_bytes = info(call.tile.out_dtype).bytes;
  const int64_t width = call.tile.width();
  const int64_t first_depth = frame[call.first_depth];
  const auto at = [&](const Access& access, int64_t size) {
    return frame.bases[access.buffer] + frame[access.offset] * size;
  };
  // Not initialized, which would take as long as some rows of a tile: the code of a tile uses only
  // the fields that its variant needs, and these are set. It also reads `second` where there is one
  // tile and `second` is not set: the number of that tile, 0, multiplies the difference.
  TileCall to;
  to.depth = frame[call.depth];
  to.left_row = call.left_row;
  to.left_depth = call.left_depth;
  to.right_depth = call.right_depth;
  to.out_row = call.out_row;
  to.sums_row = call.sums_row;
  if (call.tile.split) {
    to.continues = frame[call.continues];
    to.finishes = frame[call.finishes];
  }
  if (call.tile.pieces) {
    to.piece = call.piece;
    to.pieces = call.pieces.data() + first_depth / call.piece;
  }
  // Base addresses; the first three and `ahead` advance from one product of a batch to the next.
  const std::byte* left = at(call.left, left_bytes);
  const std::byte* right = at(call.right, right_bytes);
  std::byte* out = at(call.out, out_bytes);
  std::byte* const sums = call.sums.buffer >= 0 ? at(call.sums, sum_bytes) : nullptr;
  const std::byte* operands[kMostTileOperands];
  int64_t operand_bytes[kMostTileOperands];
  const size_t count = call.operands.size();
  for (size_t i = 0; i < count; ++i) {
    operand_bytes[i] = info(call.tile.operands[i].dtype).bytes;
    operands[i] = at(call.operands[i].at, operand_bytes[i]);
    to.operand_row[i] = call.operands[i].row;
  }
  const std::byte* ahead = call.prefetch.buffer >= 0 ? at(call.prefetch, right_bytes) : nullptr;
  // Whether all tiles of rows together prefetch one panel, each a part of it.
  const bool shared = call.prefetch_depth == 0;
  to.prefetch_step =
      shared ? width * right_bytes / (last_tile - first_tile) : call.prefetch_depth * right_bytes;
  assert(call.batch.count == 1 || (count == 0 && sums == nullptr && !call.tile.streaming));
  // Streaming stores need aligned results, as in nests; `variants` has tiles with and without them.
  const bool streaming =
      call.tile.streaming &&
      reinterpret_cast<uintptr_t>(out) % static_cast<uintptr_t>(vector_bytes_) == 0;

  // Sets the pointers of a tile; `tile` counts tiles of rows, `column` tiles of columns. A
  // prepacked left side has mr elements for each step of the depth; one that is read in place has
  // lines of rows, which begin at the offsets in `lines`.
  const auto place = [&](TilePointers& place, int64_t tile, int64_t column) {
    const int64_t row = tiles.first(tile);
    const int64_t from = call.tile.packed_left
                             ? row * call.left_row + first_depth * tiles.height(tile)
                             : call.lines[static_cast<size_t>(tiles.line_of(tile))] +
                                   tiles.first_in_line(tile) * call.left_row;
    place.left = left + from * left_bytes;
    place.right = right + column * call.right_panel * right_bytes;
    place.out = out + (row * call.out_row + column * width) * out_bytes;
    if (sums != nullptr) {
      place.sums = sums + (row * call.sums_row + column * width) * sum_bytes;
    }
    for (size_t i = 0; i < count; ++i) {
      const ProductCall::Operand& operand = call.operands[i];
      place.operands[i] =
          operands[i] + (row * operand.row + column * width * operand.column) * operand_bytes[i];
    }
    if (ahead == nullptr) return;
    place.prefetch = ahead + column * call.prefetch_panel * right_bytes +
                     (shared ? (tile - first_tile) * to.prefetch_step * to.depth : 0);
  };
  // Sets the pointers of the tile below `to.first`: their distance is that of all tiles of the
  // call.
  const auto place_below = [&](int64_t tile) {
    const int64_t height = tiles.height(tile);
    const int64_t apart =
        tiles.per_line > 1 || call.tile.packed_left || tiles.count == 1
            ? height * call.left_row
            : call.lines[static_cast<size_t>(tile + 1)] - call.lines[static_cast<size_t>(tile)];
    const TilePointers& first = to.first;
    TilePointers& second = to.second;
    second.left = static_cast<const std::byte*>(first.left) + apart * left_bytes;
    second.right = first.right;
    second.out = static_cast<std::byte*>(first.out) + height * call.out_row * out_bytes;
    if (sums != nullptr) {
      second.sums = static_cast<std::byte*>(first.sums) + height * call.sums_row * sum_bytes;
    }
    for (size_t i = 0; i < count; ++i) {
      second.operands[i] = static_cast<const std::byte*>(first.operands[i]) +
                           height * call.operands[i].row * operand_bytes[i];
    }
    if (ahead == nullptr) return;
    second.prefetch =
        static_cast<const std::byte*>(first.prefetch) + (shared ? to.prefetch_step * to.depth : 0);
  };
  // Runs `many` tiles from (tile, column) on, in the order of the call.
  const auto run_tiles = [&](int64_t tile, int64_t column, int64_t many, int vectors,
                             int64_t partial) {
    to.tiles = many;
    to.columns = partial;
    place(to.first, tile, column);
    if (many > 1 && call.columns_first) place_below(tile);
    if (many > 1 && !call.columns_first) place(to.second, tile, column + 1);
    const int height = tiles.height(tile);
    for (const ProductCall::Variant& v : call.variants) {
      if (v.rows != height || v.vectors != vectors || v.partial != (partial != 0) ||
          v.streaming != streaming) {
        continue;
      }
      return functions_.tiles[v.tile](&to);
    }
    assert(false && "every tile of a call has its variant");
  };
  // Whole tiles of columns, then the remainder: fewer vectors, the last one perhaps partial.
  const int64_t columns = frame[call.columns];
  const int64_t whole = columns / width;
  const int64_t rest = columns - whole * width;
  const auto rest_vectors =
      rest == 0 ? 0 : static_cast<int>(ceil_div(rest, int64_t{call.tile.lanes}));
  const int64_t partial = rest == 0 ? 0 : rest % call.tile.lanes;
  const auto run_all = [&] {
    if (call.columns_first) {
      for (int64_t column = 0; column < whole + (rest > 0 ? 1 : 0); ++column) {
        for (int64_t t = first_tile, end = t; t < last_tile; t = end) {
          end = std::min(last_tile, end_of_uniform_tiles(call, tiles, t));
          if (column < whole) run_tiles(t, column, end - t, call.tile.vectors, 0);
          else run_tiles(t, column, end - t, rest_vectors, partial);
        }
      }
      return;
    }
    for (int64_t t = first_tile; t < last_tile; ++t) {
      if (whole > 0) run_tiles(t, 0, whole, call.tile.vectors, 0);
      if (rest > 0) run_tiles(t, whole, 1, rest_vectors, partial);
    }
  };
  for (int64_t i = 0; i < call.batch.count; ++i) {
    run_all();
    left += call.batch.left * left_bytes;
    right += call.batch.right * right_bytes;
    out += call.batch.out * out_bytes;
    if (ahead != nullptr) ahead += call.batch.right * right_bytes;
  }
}

// Returns the end of the tiles, from `tile` on, that one call can run: they have the same height
// and are evenly spaced in memory. Tiles of one line are, up to where the height changes. If each
// line is one tile, consecutive lines at equal distances are.
int64_t Executor::end_of_uniform_tiles(const ProductCall& call, const RowTiles& tiles,
                                       int64_t tile) {
  if (tiles.per_line > 1 || tiles.count == 1 || call.tile.packed_left)
    return tile + tiles.run_of_equal_height(tile);
  const auto line = [&](int64_t t) { return call.lines[static_cast<size_t>(t)]; };
  int64_t end = tile + 1;
  while (end < tiles.count && line(end) - line(end - 1) == line(tile + 1) - line(tile)) ++end;
  return end;
}

}  // namespace aoe
