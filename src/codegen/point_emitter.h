#pragma once

#include <map>
#include <optional>
#include <tuple>

#include "codegen/builder.h"
#include "codegen/elements.h"
#include "expr/affine.h"
#include "policy/nest.h"

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
               std::vector<llvm::Value*> bases);

  // A scalar where it is the same for all lanes, else a vector.
  llvm::Value* value(const Expr& expr, Point& point, const Shape& extents) {
    extents_ = &extents;
    return value(expr, point, nullptr);
  }
  llvm::Value* vector(const Expr& expr, Point& point, const Shape& extents) {
    return elements_.splat(value(expr, point, extents), point.lanes);
  }
  void store(const NestStore& store, llvm::Value* value, Point& point, bool streaming);

  // The values of `load` for `lanes` neighbouring positions of `block_axis`, where memory is
  // contiguous along that axis: read along it, turned in registers. Where that is a matrix of
  // `rows` without gaps, what follows it in memory is fetched meanwhile, from its start to its
  // end; 0: it is not.
  std::vector<llvm::Value*> transposed(const Expr& load, Point point, size_t vector_axis,
                                       size_t block_axis, int64_t rows);

  // Asks for what lies `elements` behind what a linear load reads.
  void fetch_ahead(const Expr& load, Point& point, int64_t elements);

  // The values of loads that read every n-th element, each from one further on, n in number: what
  // lies between the first and the last is read whole, then picked apart. Nothing if they are not
  // such loads.
  std::optional<std::vector<llvm::Value*>> interleaved(const std::vector<Expr>& loads, Point& point,
                                                       const Shape& extents);

  // Distance in memory between neighbours along an axis, if the load is one linear offset.
  std::optional<int64_t> stride_along(const Expr& load, size_t axis, const Shape& extents);

  // Between these, all code is one block, and lines of memory that several points read at known
  // places are read once, whole.
  void share_lines() { lines_.emplace(); }
  void forget_lines() { lines_.reset(); }

  // Elements a step apart of a line that is read whole, brought side by side: where among them the
  // load's first one stands. Nothing if the load does not read such a line.
  std::optional<int64_t> place_in_line(const Expr& load, Point& point, const Shape& extents);
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
  llvm::Value* tail_mask(const Point& point);

  // Whether elements that all lanes share may be kept in registers around loops, or are better
  // loaded where they are used, because they are too many.
  void set_keeps_shared(bool keeps) { keeps_shared_ = keeps; }

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

  llvm::Value* value(const Expr& expr, Point& point, llvm::Value* guard);
  llvm::Value* emit(const Expr& expr, Point& point, llvm::Value* guard);
  llvm::Value* position(const AxisAt& axis, int lanes);
  llvm::Value* load(const Expr& load, Point& point, llvm::Value* guard);
  Access access_of(const Expr& load, size_t dims, Point& point, llvm::Value* guard);
  // A load's place in a line.
  struct InLine {
    Line* line;
    int64_t step;
    int64_t rest;   // of what stands before it, divided by the step
    int64_t first;  // place among the elements with that rest
  };
  std::optional<InLine> in_line(const Expr& load, Point& point);
  llvm::Value* from_line(const Expr& load, Point& point);
  llvm::Value* from_line_outside(const Expr& load, const Access& access, Point& point);
  llvm::Value* line_outside(DType dtype, const Expr& outside, int64_t count);
  llvm::Value* whole_of(Line& line, const Expr& load, int64_t place, Point& point);
  llvm::Value* part_of(const InLine& in, const Expr& load, int64_t place, Point& point);
  bool are_interleaved(const std::vector<Expr>& loads, const Point& point);
  llvm::Value* instead(llvm::Value* mask, llvm::Value* value, llvm::Value* outside);
  llvm::Value* loaded(const NestBuffer& buffer, size_t id, const Linear& at, Point& point,
                      llvm::Value* mask, llvm::Value* outside);
  llvm::Value* strided(const NestBuffer& buffer, const Linear& at, llvm::Value* pointer,
                       const Point& point);
  llvm::Value* gathered(const NestBuffer& buffer, size_t id, llvm::Value* offsets, Point& point,
                        llvm::Value* mask, llvm::Value* outside);

  llvm::Value* next_matrix(const Expr& load, Point point, size_t vector_axis, int64_t rows);
  const Affine* affine(const Expr& index, size_t rank);
  std::optional<Linear> linear(const Expr& index, Point& point);
  // As linear, where parts that are the same for all lanes need not be linear themselves.
  std::optional<Linear> linear_in_lanes(const Expr& index, Point& point, llvm::Value* guard);
  llvm::Value* pointer(const NestBuffer& buffer, size_t id, const Linear& at);
  void access(size_t buffer, const std::function<void()>& emit) {
    function_.accessing(nest_.memory_of(buffer), emit);
  }
  llvm::Value* first_lanes(int count, int lanes);
  llvm::Value* both(llvm::Value* a, llvm::Value* b);
  void check(llvm::Value* inside, llvm::Value* wanted, Point& point);

  FunctionBuilder& function_;
  llvm::IRBuilder<>& ir_;
  Elements& elements_;
  const Nest& nest_;
  std::vector<llvm::Value*> bases_;
  const Shape* extents_ = nullptr;
  bool keeps_shared_ = true;
  std::optional<std::map<std::vector<int64_t>, Line>> lines_;  // by buffer and positions
  std::map<std::tuple<DType, double, int64_t>, llvm::Value*> lines_outside_;
  llvm::Value* failure_ = nullptr;
  llvm::Value* nowhere_ = nullptr;  // memory to read where nothing else may be read
  std::map<std::pair<const Expr::Node*, size_t>, std::optional<Affine>> affine_;  // by rank too
};

}  // namespace aoe
