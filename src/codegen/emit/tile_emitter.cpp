#include <llvm/IR/Module.h>

#include <cstddef>
#include <functional>
#include <map>

#include "codegen/emit/elements.h"
#include "codegen/emit/function_builder.h"
#include "codegen/emit/tile_emitter.h"
#include "loop/nest.h"

// The micro-kernel of a matrix product, in the notation of BLIS: mr = `rows`, nr = `vectors` x
// `lanes`. All mr x vectors accumulators stay in registers; each step of the depth k loads
// `vectors` vectors of B, and for each row broadcasts one element of A:
//
//                            B: right side, one row of nr columns for each k
//                           +-----------+-----------+
//                         k |  vector 0 |  vector 1 |      right + k * right_depth
//                           +-----------+-----------+
//     A: left side    k
//      row 0       [  a0  ] | sum 0,0   | sum 0,1   |      sum r,v += broadcast(a_r) * vector v
//      row 1       [  a1  ] | sum 1,0   | sum 1,1   |
//      row 2       [  a2  ] | sum 2,0   | sum 2,1   |
//
// A is packed (mr elements for each k, contiguous), or read in place with strides, or in pieces: a
// table says where each part of the depth begins. B always has nr contiguous columns for each k;
// only the distance from one k to the next differs between a packed panel and memory as it is.
//
// In reading order: emit (one call runs several tiles), emit_one (one tile), over_depth and advance
// (the loop over k), partial_sum and keep_sums (if the depth is split, partial sums are kept in
// memory between calls), store_results and result_at (the epilogue).
//
// Invariants: sums are SSA values from zeros to the stores. Strides and sizes come from the
// TileCall, and code depends on the Tile alone: one function serves many workloads.

namespace aoe {
namespace {

// Steps of the depth in one iteration. The overhead of the loop (counter, branch, addresses) is
// then small beside 4 x mr x vectors multiply-adds, and remainders are at most 3 steps.
constexpr int64_t kUnrolledDepth = 4;

// Two alias scopes are enough: no buffer that a tile reads is one that it writes.
constexpr size_t kInputs = 0;
constexpr size_t kOutputs = 1;

class TileEmitter {
 public:
  TileEmitter(llvm::Module& module, const Tile& tile, const Device& device)
      : tile_(tile),
        function_(module, llvm::Type::getVoidTy(module.getContext()),
                  {llvm::PointerType::getUnqual(module.getContext())}),
        ir_(function_.ir()),
        elements_(ir_, device),
        bytes_(info(tile.dtype()).bytes) {}

  void emit() {
    function_.create_alias_scopes(2);
    // The mask is made once for a call: all its tiles have the same columns.
    if (tile_.partial) mask_ = lanes_below(number(offsetof(TileCall, columns)));
    function_.loop(function_.index(0), number(offsetof(TileCall, tiles)), 1, {},
                   [&](llvm::Value* which) {
                     which_ = which;
                     emit_one();
                   });
    ir_.CreateRetVoid();
  }

 private:
  void emit_one() {
    left_ = pointer(offsetof(TilePointers, left));
    right_ = pointer(offsetof(TilePointers, right));
    depth_ = number(offsetof(TileCall, depth));
    right_depth_ = number(offsetof(TileCall, right_depth));
    left_row_ = number(offsetof(TileCall, left_row));
    left_depth_ = number(offsetof(TileCall, left_depth));
    if (tile_.prefetch || tile_.fetch_lines) {
      prefetch_ = pointer(offsetof(TilePointers, prefetch));
      prefetch_step_ = number(offsetof(TileCall, prefetch_step));
    }
    std::vector<llvm::Value*> sums(
        static_cast<size_t>(tile_.rows * tile_.vectors),
        llvm::Constant::getNullValue(elements_.type(tile_.dtype(), tile_.lanes)));
    piece_ = left_;
    if (tile_.pieces) {
      llvm::Value* pieces = field(offsetof(TileCall, pieces), ir_.getPtrTy());
      llvm::Value* piece = number(offsetof(TileCall, piece));
      llvm::Value* count = ir_.CreateUDiv(depth_, piece);
      function_.loop(function_.index(0), count, 1, sums, [&](llvm::Value* i) {
        llvm::Value* start = ir_.CreateLoad(ir_.getInt64Ty(), function_.element(pieces, i, 8));
        piece_ = function_.element(left_, start, bytes_);
        before_ = ir_.CreateMul(i, piece);
        over_depth(piece, sums);
      });
    } else {
      over_depth(depth_, sums);
    }
    if (tile_.split) {
      const auto is_set = [&](size_t flag) { return ir_.CreateIsNotNull(number(flag)); };
      // The last part continues another one, or the depth would not be split.
      branch(
          is_set(offsetof(TileCall, finishes)), [&] { store_results(sums, true); },
          [&] {
            branch(
                is_set(offsetof(TileCall, continues)), [&] { keep_sums(sums, true); },
                [&] { keep_sums(sums); });
          });
    } else {
      if (tile_.keeps) keep_sums(sums);
      store_results(sums);
    }
  }

  // Shared prefetches are issued every other step: all tiles of rows together prefetch the next
  // panel, which mostly leaves each tile less than a cache line per step.
  void over_depth(llvm::Value* depth, std::vector<llvm::Value*>& sums) {
    const int64_t step = kUnrolledDepth;
    llvm::Value* whole = ir_.CreateAnd(depth, function_.index(-step));
    function_.loop(function_.index(0), whole, step, sums, [&](llvm::Value* k) {
      for (int64_t i = 0; i < step; ++i) {
        if (tile_.prefetch && i % 2 == 0) {
          function_.prefetch(fetched(in_whole(ir_.CreateAdd(k, function_.index(i)))));
        }
        advance(k, i, sums);
      }
    });
    function_.loop(whole, depth, 1, sums, [&](llvm::Value* k) { advance(k, 0, sums); });
  }

  // Converts step k of the current piece to a step of the whole depth: B has no pieces.
  llvm::Value* in_whole(llvm::Value* k) {
    return before_ == nullptr ? k : ir_.CreateAdd(before_, k);
  }

  llvm::Value* field(size_t offset, llvm::Type* type) {
    return ir_.CreateLoad(
        type, function_.element(function_.parameter(0), static_cast<int64_t>(offset), 1));
  }
  llvm::Value* number(size_t offset) { return field(offset, ir_.getInt64Ty()); }

  // A field of the current tile's TilePointers. Tiles of a call are evenly spaced, so that the
  // first two determine all: first + which * (second - first). If there is one tile, `second` is
  // not set, and `which` is 0.
  llvm::Value* pointer(size_t offset) {
    llvm::Value* step = ir_.CreateSub(number(offsetof(TileCall, second) + offset),
                                      number(offsetof(TileCall, first) + offset));
    return ir_.CreateGEP(ir_.getInt8Ty(), field(offsetof(TileCall, first) + offset, ir_.getPtrTy()),
                         ir_.CreateMul(which_, step));
  }

  llvm::Value*& sum(std::vector<llvm::Value*>& sums, int row, int vector) const {
    return sums[static_cast<size_t>(row * tile_.vectors + vector)];
  }

  llvm::Value* lanes_below(llvm::Value* count) {
    llvm::Value* steps = ir_.CreateStepVector(with_lanes(ir_.getInt32Ty(), tile_.lanes));
    llvm::Value* limit = ir_.CreateTrunc(count, ir_.getInt32Ty());
    return ir_.CreateICmpULT(steps, elements_.splat(limit, tile_.lanes));
  }
  llvm::Value* mask_of(int vector) const { return vector == tile_.vectors - 1 ? mask_ : nullptr; }

  void branch(llvm::Value* condition, const std::function<void()>& taken,
              const std::function<void()>& otherwise) {
    llvm::LLVMContext& context = ir_.getContext();
    auto* yes = llvm::BasicBlock::Create(context, "yes", &function_.function());
    auto* no = llvm::BasicBlock::Create(context, "no", &function_.function());
    auto* after = llvm::BasicBlock::Create(context, "after", &function_.function());
    ir_.CreateCondBr(condition, yes, no);
    ir_.SetInsertPoint(yes);
    taken();
    ir_.CreateBr(after);
    ir_.SetInsertPoint(no);
    otherwise();
    ir_.CreateBr(after);
    ir_.SetInsertPoint(after);
  }

  llvm::Value* row_of(llvm::Value* base, llvm::Value* step, int row, int64_t bytes) {
    return function_.element(base, ir_.CreateMul(step, function_.index(row)), bytes);
  }
  llvm::Value* vector_of(llvm::Value* row_start, int vector, int64_t bytes) {
    return function_.element(row_start, int64_t{vector} * tile_.lanes, bytes);
  }

  // Takes the row, the vector in it, and the address of the row.
  using Visit = std::function<void(int, int, llvm::Value*)>;
  void for_each_vector(llvm::Value* base, llvm::Value* step, int64_t bytes, const Visit& visit) {
    for (int row = 0; row < tile_.rows; ++row) {
      llvm::Value* start = row_of(base, step, row, bytes);
      for (int vector = 0; vector < tile_.vectors; ++vector) visit(row, vector, start);
    }
  }
  void for_each_sum(const Visit& visit) {
    llvm::Value* base = pointer(offsetof(TilePointers, sums));
    for_each_vector(base, number(offsetof(TileCall, sums_row)), info(tile_.sums_dtype()).bytes,
                    visit);
  }

  // A sum in the type of the partial sums. With `add`, the partial sum that the calls for the
  // previous parts of the depth have kept is added: sums of parts are summed, so the error grows
  // with the depth of a part and the number of parts, not with the whole depth.
  llvm::Value* partial_sum(llvm::Value* sum, int vector, llvm::Value* row_start, bool add) {
    const DType dtype = tile_.sums_dtype();
    sum = elements_.cast(tile_.dtype(), dtype, sum);
    if (!add) return sum;
    llvm::Value* from = vector_of(row_start, vector, info(dtype).bytes);
    llvm::Value* kept = elements_.load(dtype, from, tile_.lanes, mask_of(vector));
    return elements_.binary(ExprOp::add, dtype, kept, sum);
  }

  void keep_sums(std::vector<llvm::Value*>& sums, bool add = false) {
    const DType dtype = tile_.sums_dtype();
    for_each_sum([&](int row, int vector, llvm::Value* row_start) {
      elements_.store(dtype, partial_sum(sum(sums, row, vector), vector, row_start, add),
                      vector_of(row_start, vector, info(dtype).bytes), mask_of(vector));
    });
  }

  // The address to prefetch at step k of the whole depth.
  llvm::Value* fetched(llvm::Value* k) {
    return ir_.CreateGEP(ir_.getInt8Ty(), prefetch_, ir_.CreateMul(k, prefetch_step_));
  }

  // Emits step k + ahead of the depth. B's vectors are loaded first, since all rows use them. An
  // element of A is used by one row and loaded just before, so that few registers hold anything but
  // sums.
  void advance(llvm::Value* k, int64_t ahead, std::vector<llvm::Value*>& sums) {
    llvm::Value* at = in_whole(ahead == 0 ? k : ir_.CreateAdd(k, function_.index(ahead)));
    llvm::Value* right = function_.element(right_, ir_.CreateMul(at, right_depth_), bytes_);
    if (tile_.fetch_lines) {
      llvm::Value* from = fetched(at);
      for (int64_t line = 0; line < tile_.width() * bytes_; line += kCacheLine) {
        function_.prefetch(function_.element(from, line, 1));
      }
    }
    std::vector<llvm::Value*> columns;
    for (int vector = 0; vector < tile_.vectors; ++vector) {
      llvm::Value* mask = tile_.guarded ? mask_of(vector) : nullptr;
      llvm::Value* from = vector_of(right, vector, bytes_);
      columns.push_back(read(tile_.dtype(), from, tile_.lanes, mask));
    }
    for (int row = 0; row < tile_.rows; ++row) {
      llvm::Value* left = elements_.splat(left_element(k, ahead, row), tile_.lanes);
      for (int vector = 0; vector < tile_.vectors; ++vector) {
        llvm::Value*& accumulator = sum(sums, row, vector);
        accumulator = multiply_add(left, columns[static_cast<size_t>(vector)], accumulator);
      }
    }
  }

  // Where A is packed, `ahead` and `row` are constants of one address, and cost no instruction.
  llvm::Value* left_element(llvm::Value* k, int64_t ahead, int row) {
    llvm::Value* at = nullptr;
    if (tile_.packed_left) {
      at = function_.element(left_, ir_.CreateMul(k, function_.index(tile_.rows)), bytes_);
      at = function_.element(at, ahead * tile_.rows + row, bytes_);
    } else {
      llvm::Value* start = row_of(piece_, left_row_, row, bytes_);
      llvm::Value* step = ahead == 0 ? k : ir_.CreateAdd(k, function_.index(ahead));
      at = function_.element(start, ir_.CreateMul(step, left_depth_), bytes_);
    }
    return read(tile_.dtype(), at, 1);
  }

  llvm::Value* multiply_add(llvm::Value* a, llvm::Value* b, llvm::Value* c) {
    if (tile_.dot.fused) {
      return ir_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c});
    }
    return elements_.binary(ExprOp::add, tile_.dtype(),
                            elements_.binary(ExprOp::mul, tile_.dtype(), a, b), c);
  }

  llvm::Value* read(DType dtype, llvm::Value* from, int lanes, llvm::Value* mask = nullptr) {
    return function_.accessing(kInputs, [&] { return elements_.load(dtype, from, lanes, mask); });
  }

  // `add`: adds the partial sums first.
  void store_results(std::vector<llvm::Value*> sums, bool add = false) {
    if (add) {
      for_each_sum([&](int row, int vector, llvm::Value* row_start) {
        llvm::Value*& one = sum(sums, row, vector);
        one = elements_.cast(tile_.sums_dtype(), tile_.dtype(),
                             partial_sum(one, vector, row_start, true));
      });
    }
    llvm::Value* out = pointer(offsetof(TilePointers, out));
    llvm::Value* out_row = number(offsetof(TileCall, out_row));
    const int64_t bytes = info(tile_.out_dtype).bytes;
    for_each_vector(out, out_row, bytes, [&](int row, int vector, llvm::Value* row_start) {
      llvm::Value* value =
          elements_.splat(result_at(sum(sums, row, vector), row, vector), tile_.lanes);
      llvm::Value* to = vector_of(row_start, vector, bytes);
      function_.accessing(kOutputs, [&] {
        return elements_.store(tile_.out_dtype, value, to, mask_of(vector), tile_.streaming);
      });
    });
  }

  // The epilogue for one vector of sums; common subexpressions are emitted once.
  llvm::Value* result_at(llvm::Value* sum, int row, int vector) {
    std::map<const Expr::Node*, llvm::Value*> known;
    const std::function<llvm::Value*(const Expr&)> value = [&](const Expr& expr) {
      llvm::Value*& found = known[&*expr];
      if (found != nullptr) return found;
      if (expr->op == ExprOp::arg) return found = sum;
      if (expr->op == ExprOp::constant) return found = elements_.constant(expr, 1);
      if (expr->op == ExprOp::load) {
        return found = operand(static_cast<size_t>(expr->id), row, vector);
      }
      std::vector<llvm::Value*> operands;
      for (const Expr& e : expr->operands) operands.push_back(value(e));
      return found = elements_.applied(expr, operands);
    };
    return value(tile_.result);
  }

  llvm::Value* operand(size_t which, int row, int vector) {
    const Tile::Operand& operand = tile_.operands[which];
    const int64_t bytes = info(operand.dtype).bytes;
    llvm::Value* base = pointer(offsetof(TilePointers, operands) + which * sizeof(void*));
    llvm::Value* step = number(offsetof(TileCall, operand_row) + which * sizeof(int64_t));
    llvm::Value* at = row_of(base, step, row, bytes);
    if (!operand.by_column) return read(operand.dtype, at, 1);
    return read(operand.dtype, vector_of(at, vector, bytes), tile_.lanes, mask_of(vector));
  }

  const Tile& tile_;
  FunctionBuilder function_;
  llvm::IRBuilder<>& ir_;
  Elements elements_;
  int64_t bytes_;
  llvm::Value* which_ = nullptr;  // number of the current tile in the call
  llvm::Value* left_ = nullptr;
  llvm::Value* right_ = nullptr;
  llvm::Value* depth_ = nullptr;
  llvm::Value* right_depth_ = nullptr;
  llvm::Value* left_row_ = nullptr;
  llvm::Value* left_depth_ = nullptr;
  llvm::Value* prefetch_ = nullptr;
  llvm::Value* prefetch_step_ = nullptr;
  llvm::Value* mask_ = nullptr;
  llvm::Value* piece_ = nullptr;   // address of the current piece of the left side
  llvm::Value* before_ = nullptr;  // steps of the depth before this piece; null without pieces
};

}  // namespace

EmitModule emit_tile(const Tile& tile, const Device& device) {
  return [&](llvm::Module& module) { TileEmitter(module, tile, device).emit(); };
}

}  // namespace aoe
