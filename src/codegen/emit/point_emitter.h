#pragma once

#include <map>
#include <optional>
#include <tuple>

#include "codegen/emit/elements.h"
#include "codegen/emit/function_builder.h"
#include "expr/affine.h"
#include "loop/nest.h"

namespace aoe {

// Position of an axis in the code that is being emitted: `base` + `offset`, and if `lanes` is set,
// plus the number of the lane. Without a base it is a constant.
struct AxisPosition {
  llvm::Value* base = nullptr;
  int64_t offset = 0;
  bool lanes = false;
};

// A vector of neighbouring points at which expressions are evaluated.
struct Point {
  std::vector<AxisPosition> at;
  int lanes = 1;
  int valid = 1;                   // lanes that exist; the others neither read nor write
  std::vector<llvm::Value*> args;  // values of arg(i)
  bool wide = false;               // while reducing: small floats are not rounded, but stay f32
  // Values emitted so far, by expression and guard.
  std::map<std::pair<const Expr::Node*, llvm::Value*>, llvm::Value*> known;
};

// Emits the values of expressions at points, and the loads and stores of a nest's buffers.
class PointEmitter {
 public:
  PointEmitter(FunctionBuilder& function, Elements& elements, const Nest& nest,
               const Device& device, std::vector<llvm::Value*> bases);

  // Sets the loop whose points follow. With `keeps_shared`, elements that are the same for all
  // lanes may be kept in registers across loops; without, they are loaded where they are used,
  // because there are too many.
  void enter(const Loop& loop, bool keeps_shared) {
    loop_ = &loop;
    keeps_shared_ = keeps_shared;
  }

  // Returns the value of an expression: a scalar if it is the same for all lanes, else a vector.
  // Lanes where `guard` is false read nothing that may be out of bounds.
  llvm::Value* value(const Expr& expr, Point& point, llvm::Value* guard = nullptr);
  llvm::Value* vector(const Expr& expr, Point& point) {
    return elements_.splat(value(expr, point), point.lanes);
  }
  void store(const NestStore& store, llvm::Value* value, Point& point, bool streaming);

  // Returns the values of `load` for `lanes` consecutive positions of the block axis, along which
  // memory must be contiguous: vectors are read along it and transposed in registers.
  std::vector<llvm::Value*> transposed(const Expr& load, Point point);

  // Prefetches the element that lies `elements` after the one that a linear load reads.
  void fetch_ahead(const Expr& load, Point& point, int64_t elements);

  // Evaluates n loads that each read every n-th element and start one element apart: all elements
  // in between are read by vector loads and separated by shuffles. Does nothing for other loads.
  void read_interleaved(const std::vector<Expr>& loads, Point& point);

  // The stride of `expr` along an axis, in elements, if it is a load at a linear offset.
  std::optional<int64_t> stride_along(const Expr& expr, size_t axis);

  // Between these calls, all code is one basic block, and lines of memory that several points read
  // at known positions are loaded once, as a whole.
  void share_lines() { lines_.emplace(); }
  void forget_lines() { lines_.reset(); }

  // A load with lane stride `step` reads every step-th element of its line. Returns the number of
  // its first one among the elements of the line with the same position modulo the step, or nullopt
  // if the load does not read a shared line.
  std::optional<int64_t> place_in_line(const Expr& load, Point& point);
  // Vector number `place` of these elements, `lanes` of them; null if all lie outside the line.
  llvm::Value* part_of_line(const Expr& load, Point& point, int64_t place);

  // The part of a load's address that is known when code is emitted, in elements: of the line (all
  // dimensions but the last), and of the position in it. nullopt if the index is not linear.
  struct Place {
    int64_t line = 0;
    int64_t offset = 0;
    auto operator<=>(const Place&) const = default;
  };
  std::optional<Place> known_place(const Expr& load, Point& point);

  // A mask that is true in the lanes that exist; null if all do.
  llvm::Value* tail_mask(const Point& point) { return first_lanes(point.valid, point.lanes); }

  // The flag (i1) that is set if an index is out of range; null if no load needs a check.
  llvm::Value* failure_slot() const { return failure_; }

 private:
  // variable + constant + lane * lane_stride.
  struct Linear {
    llvm::Value* variable = nullptr;  // null: none
    int64_t constant = 0;
    int64_t lane_stride = 0;
  };

  // Where a load reads: at a linear offset, if it has one, in the lanes of the mask.
  struct Access {
    size_t id;  // of the buffer
    std::optional<Linear> at;
    llvm::Value* mask = nullptr;     // null: all lanes
    llvm::Value* outside = nullptr;  // value of the other lanes; null: none is given
  };

  // The last dimension of a buffer at one position of the others, in registers. Vector number
  // `place` begins at place * lanes.
  struct Line {
    llvm::Value* start = nullptr;                               // address
    llvm::Value* mask = nullptr;                                // null: inside the tensor
    std::map<int64_t, llvm::Value*> whole;                      // vectors of the line, by place
    std::map<std::pair<int64_t, int64_t>, llvm::Value*> parts;  // part_of, by rest and place
  };

  // The elements of a line that a load reads: lane i is the one at (first + i) * step + rest.
  struct InLine {
    Line* line;
    int64_t step;
    int64_t rest;  // from 0 to step - 1
    int64_t first;
  };

  llvm::Value* emit(const Expr& expr, Point& point, llvm::Value* guard);
  llvm::Value* position(const AxisPosition& axis, int lanes);
  void check(llvm::Value* inside, llvm::Value* wanted, Point& point);

  llvm::Value* load(const Expr& load, Point& point, llvm::Value* guard);
  // Considers the first `dims` dimensions only.
  Access access_of(const Expr& load, size_t dims, Point& point, llvm::Value* guard);
  llvm::Value* loaded(Access access, Point& point);
  llvm::Value* gathered(Access access, llvm::Value* offsets, Point& point);
  llvm::Value* strided(size_t id, llvm::Value* from, int64_t stride, const Point& point);
  bool are_interleaved(const std::vector<Expr>& loads);
  int64_t rows_of_near_matrix(const Expr& load);
  llvm::Value* next_matrix(const Expr& load, Point point, int64_t rows);

  std::optional<InLine> in_line(const Expr& load, Point& point);
  llvm::Value* from_line(const Expr& load, Point& point);
  llvm::Value* from_line_outside(const Expr& load, const Access& access, Point& point);
  llvm::Value* line_outside(DType dtype, const Expr& outside, int64_t count);
  // Zeros to read instead of a buffer where the mask is false. The buffer's base address will not
  // do: a call may pass one that lies before the memory.
  llvm::Value* zeros(size_t id, int64_t count);
  llvm::Value* whole_of(Line& line, const Expr& load, int64_t place, Point& point);
  llvm::Value* part_of(const InLine& in, const Expr& load, int64_t place, Point& point);

  const std::optional<Affine>& affine(const Expr& index);
  std::optional<Linear> linear(const Expr& index, const Point& point);
  // As `linear`, but summands that are the same for all lanes need not be linear.
  std::optional<Linear> linear_in_lanes(const Expr& index, Point& point, llvm::Value* guard);
  void add(Linear& sum, const Linear& part, int64_t factor);
  // Strides of the dimensions of a load's index, in elements.
  Shape strides_of(const Expr& load) const;

  // Picks every `step`-th element, from `rest` on, of the concatenation of `vectors` vectors, which
  // `whole` returns.
  llvm::Value* deinterleaved(int64_t step, int64_t rest, int64_t vectors, int lanes,
                             const std::function<llvm::Value*(int64_t)>& whole);
  // `value` where the mask is true, else `outside`, or zero if there is none.
  llvm::Value* select_or(llvm::Value* mask, llvm::Value* value, llvm::Value* outside);
  llvm::Value* first_lanes(int64_t count, int lanes);  // a mask; null: all
  // Conjunction of masks; sum of integers. If an operand is null, the result is the other one.
  llvm::Value* mask_and(llvm::Value* a, llvm::Value* b);
  llvm::Value* plus(llvm::Value* a, llvm::Value* b, bool no_wrap = false);

  // Memory of a buffer.
  template <typename Offset>
  llvm::Value* element(size_t id, llvm::Value* from, Offset offset) {
    return function_.element(from, offset, info(nest_.buffers[id].dtype).bytes);
  }
  llvm::Value* pointer(size_t id, const Linear& at);
  llvm::Value* read(size_t id, llvm::Value* from, int lanes, llvm::Value* mask = nullptr,
                    llvm::Value* outside = nullptr);
  void write(size_t id, llvm::Value* value, llvm::Value* to, llvm::Value* mask = nullptr,
             bool streaming = false);

  FunctionBuilder& function_;
  llvm::IRBuilder<>& ir_;
  Elements& elements_;
  const Nest& nest_;
  const Device& device_;
  std::vector<llvm::Value*> bases_;
  const Loop* loop_ = nullptr;
  bool keeps_shared_ = true;
  std::optional<std::map<std::vector<int64_t>, Line>> lines_;  // by buffer and positions
  std::map<std::tuple<DType, double, int64_t>, llvm::Value*> lines_outside_;  // line_outside
  llvm::Value* failure_ = nullptr;
  std::map<std::pair<const Expr::Node*, size_t>, std::optional<Affine>> affine_;  // by expr, rank
};

}  // namespace aoe
