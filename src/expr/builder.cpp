#include "expr/builder.h"

#include <cassert>

namespace aoe {

Expr Operand::broadcast_at(const Axes& point) const {
  assert(point.size() >= shape.size());
  Axes index;
  const size_t skipped = point.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i) {
    index.push_back(shape[i] == 1 ? Expr::integer(DType::i64, 0) : point[skipped + i]);
  }
  return (*this)(std::move(index));
}

Operand Builder::add_value(TensorType type) {
  type.count();  // fails on overflow, so that extents can be multiplied without checks later
  Operand operand{static_cast<int>(workload_.values.size()), type.dtype, type.shape};
  workload_.values.push_back({.type = std::move(type), .view_of = -1, .constant = {}});
  return operand;
}

std::vector<Operand> Builder::add_stage(Stage stage) {
  std::vector<Operand> outputs;
  for (const Expr& result : stage.results) {
    outputs.push_back(add_value({result.dtype(), stage.axes}));
    stage.outputs.push_back(outputs.back().id);
  }
  workload_.stages.push_back(std::move(stage));
  return outputs;
}

Operand Builder::input(TensorType type) {
  Operand operand = add_value(std::move(type));
  workload_.inputs.push_back(operand.id);
  return operand;
}

Operand Builder::constant(Tensor tensor) {
  Operand operand = add_value(tensor.type());
  workload_.values[operand.id].constant = std::move(tensor);
  return operand;
}

Operand Builder::reshape(const Operand& a, Shape shape) {
  const int64_t count = element_count(a.shape);
  const int64_t wanted = element_count(shape);
  require(count == wanted, "{} has {} elements, the shape {} has {}",
          to_string(TensorType{a.dtype, a.shape}), count, to_string(shape), wanted);
  if (shape == a.shape) return a;
  Operand operand = add_value({a.dtype, std::move(shape)});
  workload_.values[operand.id].view_of = a.id;
  return operand;
}

Operand Builder::compute(Shape shape, const Body& body) {
  return compute_all(std::move(shape),
                     [&](const Axes& axes) { return std::vector{body(axes)}; })[0];
}

std::vector<Operand> Builder::compute_all(
    Shape shape, const std::function<std::vector<Expr>(const Axes&)>& body) {
  Stage stage;
  stage.results = body(axes_from(0, shape.size()));
  stage.axes = std::move(shape);
  return add_stage(std::move(stage));
}

Operand Builder::reduce(const Reducer& reducer, Shape shape, Shape over,
                        const std::function<Expr(const Axes&, const Axes&)>& element) {
  return reduce_all(
      reducer, std::move(shape), std::move(over),
      [&](const Axes& out, const Axes& in) { return std::vector{element(out, in)}; },
      [](const Axes&, const std::vector<Expr>& reduced) { return reduced; })[0];
}

std::vector<Operand> Builder::reduce_all(const Reducer& reducer, Shape shape, Shape over,
                                         const Elements& elements, const Results& results) {
  const Axes out = axes_from(0, shape.size());
  const Axes in = axes_from(shape.size(), over.size());
  std::vector<Expr> reduced;
  for (size_t i = 0; i < reducer.size(); ++i) {
    reduced.push_back(Expr::arg(static_cast<int64_t>(i), reducer.identity[i].dtype()));
  }
  Stage stage;
  stage.elements = elements(out, in);
  stage.results = results(out, reduced);
  assert(stage.elements.size() == reducer.size());
  for (size_t i = 0; i < reducer.size(); ++i) {
    if (stage.elements[i].dtype() != reducer.identity[i].dtype()) {
      fail("reduction {} of {} over elements of {}", reducer.name,
           name(reducer.identity[i].dtype()), name(stage.elements[i].dtype()));
    }
  }
  stage.axes = std::move(shape);
  stage.reduce_axes = std::move(over);
  stage.reducer = reducer;
  return add_stage(std::move(stage));
}

Operand Builder::map(const std::vector<Operand>& operands,
                     const std::function<Expr(const std::vector<Expr>&)>& body) {
  Shape shape;
  for (const Operand& operand : operands) shape = broadcast(shape, operand.shape);
  return compute(shape, [&](const Axes& point) {
    std::vector<Expr> elements;
    for (const Operand& operand : operands) elements.push_back(operand.broadcast_at(point));
    return body(elements);
  });
}

Operand Builder::map(const Operand& a, const std::function<Expr(const Expr&)>& body) {
  return compute(a.shape, [&](const Axes& point) { return body(a(point)); });
}

Operand Builder::map(const Operand& a, const Operand& b,
                     const std::function<Expr(const Expr&, const Expr&)>& body) {
  return compute(broadcast(a.shape, b.shape), [&](const Axes& point) {
    return body(a.broadcast_at(point), b.broadcast_at(point));
  });
}

Operand Builder::cast_to(const Operand& a, DType dtype) {
  if (a.dtype == dtype) return a;
  return map(a, [&](const Expr& x) { return cast(dtype, x); });
}

Workload Builder::finish(const std::vector<Operand>& outputs) {
  for (const Operand& output : outputs) workload_.outputs.push_back(output.id);
  return std::move(workload_);
}

}  // namespace aoe
