#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "expr/expr.h"

namespace aoe {

// How the elements of a reduction become one: an associative combination of tuples, with its
// identity. Associative is what lets a reduction be split over blocks; those below, which are
// commutative too, also over the lanes of vectors.
struct Reducer {
  std::string name;
  std::vector<Expr> identity;  // constants, one for each component
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
// (count, mean, sum of squared differences from the mean): Welford's, stable in one pass.
Reducer moments_of(DType dtype);

// Whether it is one of those above, which its name then says all of. They do not mind the order of
// their elements either, so that lanes may take them in turns.
bool is_builtin(const Reducer& reducer);
inline bool is_sum(const Reducer& reducer) { return reducer.name == "sum" && is_builtin(reducer); }

// One loop nest: for every point of `axes` the elements over `reduce_axes` are combined, and the
// results made of them are stored at that point. Axis expressions count `axes` first, then
// `reduce_axes`.
struct Stage {
  Shape axes;
  Shape reduce_axes;
  std::optional<Reducer> reducer;
  std::vector<Expr> elements;  // one for each component of the reducer
  std::vector<Expr> results;   // over the axes and arg(0..n-1), the reduced tuple
  std::vector<int> outputs;    // values that receive the results

  // Of all axes, as axis expressions count them.
  Shape extents() const;
};

// A chain of stages over numbered values: what an operator, or several fused ones, computes,
// without names. Everything that runs it (the reference evaluator, generated code) starts from
// here.
struct Workload {
  struct Value {
    TensorType type;
    int view_of = -1;     // the same elements as that value, in another shape
    Tensor constant;      // known contents
    bool weight = false;  // an input whose contents stay the same from run to run
  };

  std::vector<Value> values;
  std::vector<int> inputs;  // values the caller gives
  std::vector<Stage> stages;
  std::vector<int> outputs;  // values the caller wants

  // The value that holds the elements of `value`.
  int storage(int value) const;
  const TensorType& type_of(int64_t value) const { return values[static_cast<size_t>(value)].type; }
};

// Its name, and what the name does not say.
std::string to_string(const Reducer& reducer);

// One expression of a stage with that many output axes, in the words of the text below.
std::string to_string(const Expr& expr, size_t out_rank);

// A short text, one line a stage, for people, tests and keys; docs/workload.md says how it reads.
// `parse_workload` in expr/parse.h is its inverse.
std::string to_string(const Workload& workload);

// A hash of the text, the same on every machine and in every process: what a bank stores a
// workload's policies under. Another text form is another key, so the form changes rarely.
uint64_t key_of(const Workload& workload);

// Fails if a load without an outside value could leave its tensor, an index overflows, or a load
// names a value that does not exist. Loads whose index is itself loaded are checked when run.
void verify(const Workload& workload);

// Elements of all reductions: what an evaluation costs.
int64_t work_of(const Workload& workload);

// Operations on elements, a multiplication and an addition as two; indexes, and what only moves or
// converts, do not count.
double operations_of(const Workload& workload);

// Of its inputs and outputs, each once: what no kernel can do without moving.
double bytes_of(const Workload& workload);

}  // namespace aoe
