#pragma once

#include <functional>
#include <vector>

#include "expr/workload.h"

namespace aoe {

using Axes = std::vector<Expr>;

// A value of the workload under construction.
struct Operand {
  int id = -1;
  DType dtype = DType::f32;
  Shape shape;

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  int64_t extent(int64_t axis) const { return shape[normalize_axis(axis, rank())]; }

  Expr operator()(Axes index) const { return Expr::load(id, dtype, std::move(index)); }
  // Elements out of bounds read as `outside`.
  Expr or_outside(Axes index, const Expr& outside) const {
    return Expr::load(id, dtype, std::move(index), outside);
  }
  // Element at a point of a shape that this one broadcasts to.
  Expr broadcast_at(const Axes& point) const;
};

// Builds a workload stage by stage. `Operand`s are handles to its values, so operators compose as
// functions: `softmax(b, matmul(b, q, k), -1)`.
class Builder {
 public:
  using Body = std::function<Expr(const Axes&)>;
  // From output axes and reduce axes to the elements of a reduction.
  using Elements = std::function<std::vector<Expr>(const Axes&, const Axes&)>;
  // From output axes and the reduced tuple to results.
  using Results = std::function<std::vector<Expr>(const Axes&, const std::vector<Expr>&)>;

  Operand input(TensorType type);
  Operand constant(Tensor tensor);
  Operand reshape(const Operand& a, Shape shape);

  // One element per point of `shape`, of the type of the body's expression.
  Operand compute(Shape shape, const Body& body);
  // Several results per point.
  std::vector<Operand> compute_all(Shape shape,
                                   const std::function<std::vector<Expr>(const Axes&)>& body);
  // A reduction whose result is the reduced value itself.
  Operand reduce(const Reducer& reducer, Shape shape, Shape over,
                 const std::function<Expr(const Axes&, const Axes&)>& element);
  // The general form: reduces tuples and computes results from them.
  std::vector<Operand> reduce_all(const Reducer& reducer, Shape shape, Shape over,
                                  const Elements& elements, const Results& results);

  // Elementwise over broadcast operands. They may have different types if the body converts them.
  Operand map(const std::vector<Operand>& operands,
              const std::function<Expr(const std::vector<Expr>&)>& body);
  Operand map(const Operand& a, const std::function<Expr(const Expr&)>& body);
  Operand map(const Operand& a, const Operand& b,
              const std::function<Expr(const Expr&, const Expr&)>& body);
  Operand cast_to(const Operand& a, DType dtype);

  // `outputs` in the caller's order; an operand may be an input, or occur more than once.
  Workload finish(const std::vector<Operand>& outputs);

 private:
  Operand add_value(TensorType type);
  std::vector<Operand> add_stage(Stage stage);

  Workload workload_;
};

}  // namespace aoe
