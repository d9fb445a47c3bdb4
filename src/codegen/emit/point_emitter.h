#pragma once

#include <map>
#include <optional>
#include <tuple>

#include "codegen/emit/elements.h"
#include "codegen/emit/function_builder.h"
#include "expr/affine.h"
#include "loop/nest.h"

namespace aoe {

// Strided vectors up to this distance are read whole and picked apart.
inline constexpr int64_t kPickedStride = 4;

// Where one axis stands while code is emitted: `base` + `offset`, and with `lanes` one further from
// each lane to the next. Without a base the position is known.
struct AxisAt {
  llvm::Value* base = nullptr;
  int64_t offset = 0;
  bool lanes = false;
};

// A vector of neighbouring points at which expressions are evaluated.
struct Point {
  std::vector<AxisAt> at;
  int lanes = 1;
  int valid = 1;                   // lanes that exist; the others neither read nor write
  std::vector<llvm::Value*> args;  // what arg(i) is
  bool wide = false;               // small floats keep the digits of float32: while reducing
  std::map<std::pair<const Expr::Node*, llvm::Value*>, llvm::Value*> known;
};

// Emits the values of expressions at points, and the loads and stores of a nest's buffers.
class PointEmitter {
 public:
  PointEmitter(FunctionBuilder& function, Elements& elements, const Nest& nest,
               const Device& device, std::vector<llvm::Value*> bases);

  // What follows is at points of this loop. Elements that all lanes share may be kept in registers
  // around loops, or are better loaded where they are used, because they are too many.
  void enter(const Loop& loop, bool keeps_shared) {
    loop_ = &loop;
    keeps_shared_ = keeps_shared;
  }

  // A scalar where it is the same for all lanes, else a vector. Where `guard` is false nothing is
  // read that may be out of bounds.
  llvm::Value* value(const Expr& expr, Point& point, llvm::Value* guard = nullptr);
  llvm::Value* vector(const Expr& expr, Point& point) {
    return elements_.splat(value(expr, point), point.lanes);
  }
  void store(const NestStore& store, llvm::Value* value, Point& point, bool streaming);

  // The values of `load` for `lanes` neighbouring positions of the block axis, where memory is
  // contiguous along that axis: read along it, turned in registers.
  std::vector<llvm::Value*> transposed(const Expr& load, Point point);

  // Asks for what lies `elements` behind what a linear load reads.
  void fetch_ahead(const Expr& load, Point& point, int64_t elements);

  // Loads that read every n-th element, each from one further on, n in number: what lies between
  // the first and the last is read whole, then picked apart. Does nothing for others.
  void read_interleaved(const std::vector<Expr>& loads, Point& point);

  // Distance in memory between neighbours along an axis, if it is a load at one linear offset.
  std::optional<int64_t> stride_along(const Expr& expr, size_t axis);

  // Between these, all code is one block, and lines of memory that several points read at known
  // places are read once, whole.
  void share_lines() { lines_.emplace(); }
  void forget_lines() { lines_.reset(); }

  // Elements a step apart of a line that is read whole, brought side by side: where among them the
  // load's first one stands. Nothing if the load does not read such a line.
  std::optional<int64_t> place_in_line(const Expr& load, Point& point);
  // As many of them as the point has lanes, from vector `place` on; null if all lie outside.
  llvm::Value* part_of_line(const Expr& load, Point& point, int64_t place);

  // Where in memory a load begins, apart from what is not known before the code runs: the line
  // along the last dimension, and the place in it.
  struct Place {
    int64_t line = 0;
    int64_t offset = 0;
    auto operator<=>(const Place&) const = default;
  };
  std::optional<Place> known_place(const Expr& load, Point& point);

  // True in the lanes that exist; null if all do.
  llvm::Value* tail_mask(const Point& point) { return first_lanes(point.valid, point.lanes); }

  // Not 0 once an index was out of range; null if no load needed a check.
  llvm::Value* failure_slot() const { return failure_; }

 private:
  struct Linear {
    llvm::Value* variable = nullptr;  // null: none
    int64_t constant = 0;
    int64_t lane_stride = 0;
  };

  // What a load reads: one linear offset where there is one, in the lanes of the mask.
  struct Access {
    size_t id;  // of the buffer
    std::optional<Linear> at;
    llvm::Value* mask = nullptr;     // null: all
    llvm::Value* outside = nullptr;  // null: no other value stands for what lies outside
  };

  // The last dimension of a buffer at one position of the others, in registers.
  struct Line {
    llvm::Value* start = nullptr;
    llvm::Value* mask = nullptr;                                // null: it is there
    std::map<int64_t, llvm::Value*> whole;                      // by place
    std::map<std::pair<int64_t, int64_t>, llvm::Value*> parts;  // by remainder and place
  };

  // A load's place in a line.
  struct InLine {
    Line* line;
    int64_t step;
    int64_t rest;   // of what stands before it, divided by the step
    int64_t first;  // place among the elements with that rest
  };

  llvm::Value* emit(const Expr& expr, Point& point, llvm::Value* guard);
  llvm::Value* position(const AxisAt& axis, int lanes);
  void check(llvm::Value* inside, llvm::Value* wanted, Point& point);

  llvm::Value* load(const Expr& load, Point& point, llvm::Value* guard);
  // Looks at the first `dims` dimensions only.
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
  // Memory to read where a buffer must not be: a call may be given one from before its beginning.
  llvm::Value* zeros(size_t id, int64_t count);
  llvm::Value* whole_of(Line& line, const Expr& load, int64_t place, Point& point);
  llvm::Value* part_of(const InLine& in, const Expr& load, int64_t place, Point& point);

  const std::optional<Affine>& affine(const Expr& index);
  std::optional<Linear> linear(const Expr& index, const Point& point);
  // As linear, where parts that are the same for all lanes need not be linear themselves.
  std::optional<Linear> linear_in_lanes(const Expr& index, Point& point, llvm::Value* guard);
  void add(Linear& sum, const Linear& part, int64_t factor);
  // Of a load's index.
  Shape strides_of(const Expr& load) const;

  // Of every `step` elements of some vectors the one at `rest`. `whole` gives the vectors.
  llvm::Value* picked(int64_t step, int64_t rest, int64_t vectors, int lanes,
                      const std::function<llvm::Value*(int64_t)>& whole);
  // The value where the mask holds, else what stands for the outside, or nothing in particular.
  llvm::Value* instead(llvm::Value* mask, llvm::Value* value, llvm::Value* outside);
  llvm::Value* first_lanes(int64_t count, int lanes);  // null: all
  // Of what may be absent: null.
  llvm::Value* both(llvm::Value* a, llvm::Value* b);
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
  std::map<std::tuple<DType, double, int64_t>, llvm::Value*> lines_outside_;
  llvm::Value* failure_ = nullptr;
  std::map<std::pair<const Expr::Node*, size_t>, std::optional<Affine>> affine_;  // by rank too
};

}  // namespace aoe
