#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/numerics.h"
#include "base/tensor.h"
#include "expr/expr.h"

namespace aoe {

// An associative combination of tuples with its identity. Because it is associative, a reduction
// can be split into blocks; the built-in reducers below are commutative too, so that it can also be
// split over the lanes of vectors.
struct Reducer {
  std::string name;
  std::vector<Expr> identity;  // constants, one per component
  std::vector<Expr> combine;   // over arg(0..n-1), the left tuple, and arg(n..2n-1), the right one

  size_t size() const { return identity.size(); }
};

Reducer sum_of(DType dtype);
Reducer product_of(DType dtype);
Reducer max_of(DType dtype);
Reducer min_of(DType dtype);
// (value, position): the largest (smallest) value; among equals the first, or the last, position.
Reducer arg_max_of(DType dtype, bool last);
Reducer arg_min_of(DType dtype, bool last);
// (count, mean, sum of squared differences from the mean): Welford's algorithm, stable in one pass.
Reducer moments_of(DType dtype);

// Whether it is one of the reducers above, which are identified by their names. They are
// commutative, so that lanes may take elements in turns.
bool is_builtin(const Reducer& reducer);
// Whether results depend on the order of the elements: sums of floats do, maxima do not.
bool rounds(const Reducer& reducer);
inline bool is_sum(const Reducer& reducer) { return reducer.name == "sum" && is_builtin(reducer); }

// One loop nest: for every point of `axes`, the elements over `reduce_axes` are combined, and the
// results computed from the combined values are stored at that point. Axis expressions number
// `axes` first, then `reduce_axes`.
struct Stage {
  Shape axes;
  Shape reduce_axes;
  std::optional<Reducer> reducer;
  std::vector<Expr> elements;  // one per component of the reducer
  std::vector<Expr> results;   // over the axes and arg(0..n-1), the reduced tuple
  std::vector<int> outputs;    // values that receive the results

  // Extents of all axes, numbered as in axis expressions.
  Shape extents() const;
};

// A chain of stages over numbered values: the computation of one operator or of several fused ones,
// without names. The reference evaluator and code generation both start from it.
struct Workload {
  struct Value {
    TensorType type;
    int view_of = -1;     // has the elements of that value, in another shape
    Tensor constant;      // contents, if they are known
    bool weight = false;  // an input whose contents do not change from run to run
  };

  std::vector<Value> values;
  std::vector<int> inputs;  // values that the caller passes
  std::vector<Stage> stages;
  std::vector<int> outputs;  // values that the caller receives
  // The algorithms that may compute it. A demand of the caller, not part of what is computed: the
  // text and the key do not have it.
  Numerics numerics = Numerics::strassen;

  // The value that holds the elements of `value`.
  int storage(int value) const;
  const TensorType& type_of(int64_t value) const { return values[static_cast<size_t>(value)].type; }
};

// The name; of a custom reducer also identity and combination.
std::string to_string(const Reducer& reducer);

// One expression of a stage with `out_rank` output axes, in the notation of the text below.
std::string to_string(const Expr& expr, size_t out_rank);

// A short text, one line per stage, for people, tests and keys; docs/workload.md defines it.
// `parse_workload` in expr/parse.h is the inverse.
std::string to_string(const Workload& workload);

// A hash of the text, the same on every machine and in every process: the key of a workload in a
// bank. A change of the text form changes all keys, so the form changes rarely.
uint64_t key_of(const Workload& workload);

// Fails if a load without an outside value could leave its tensor, an index overflows, or a load
// names a value that does not exist. Loads in a branch of a select, and loads whose index is itself
// loaded, are checked at run time.
void verify(const Workload& workload);

// Cost of an evaluation: the points of all stages times their positions of the reduction.
int64_t work_of(const Workload& workload);

// Number of arithmetic operations on elements; a multiply-add counts as two. Indexes, casts and
// selects do not count.
double operations_of(const Workload& workload);

// Bytes of the inputs and outputs: the minimum that any kernel has to move.
double bytes_of(const Workload& workload);

}  // namespace aoe
