#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "expr/builder.h"
#include "op/operator.h"

namespace aoe {

// What a definition sees of a call, and where it puts the result. It is also the builder of the
// call's workload.
class OpContext : public Builder {
 public:
  explicit OpContext(const OpCall& call) : call_(call) {}

  // The newest version of the operator's standard that the model was written for.
  int opset() const { return call_.opset; }

  int input_count() const { return static_cast<int>(call_.inputs.size()); }
  bool has(int input) const;
  // Fails unless the first `inputs` are there: for host kernels, which see them only when they run.
  void need(int inputs) const;
  const ValueType& type(int input) const { return this->input(input).type; }
  DType dtype(int input) const;
  const Shape& shape(int input) const;
  int64_t rank(int input) const { return static_cast<int64_t>(shape(input).size()); }

  // The input as an operand of the workload. Fails if it was left out.
  Operand in(int input);
  // The same for elements that the operator moves but never computes with: these may be strings.
  // Of strings the workload moves numbers that stand for them (0 for the empty one), and every
  // output is strings again.
  Operand movable(int input);

  // Contents that decide shapes or structure (Reshape's shape, Slice's bounds). Where they are not
  // known before run time, the definition ends here and is asked again then.
  const Value& value(int input) const;
  const Tensor& tensor(int input) const { return value(input).tensor(); }
  std::vector<int64_t> ints(int input) const { return tensor(input).to_ints(); }
  int64_t integer_in(int input) const;
  double number_in(int input) const;

  // Attributes. Those without default are required. A wrong type fails.
  bool has_attr(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  int64_t integer(std::string_view name, int64_t otherwise) const;
  bool flag(std::string_view name, bool otherwise) const { return integer(name, otherwise) != 0; }
  double real(std::string_view name) const;
  double real(std::string_view name, double otherwise) const;
  std::string text(std::string_view name, const std::string& otherwise) const;
  std::string text(std::string_view name) const;
  std::vector<int64_t> integers(std::string_view name) const;
  std::vector<int64_t> integers(std::string_view name, const std::vector<int64_t>& otherwise) const;
  std::vector<double> reals(std::string_view name, std::vector<double> otherwise = {}) const;
  std::vector<std::string> texts(std::string_view name) const;
  const Tensor& tensor_attr(std::string_view name) const;
  const Attributes& attributes() const { return *call_.attributes; }
  // Whether the attribute holds a subgraph, for a host kernel to run.
  bool has_body(std::string_view name) const;

  int output_count() const { return static_cast<int>(call_.wanted.size()); }
  bool wants(int output) const;

  // Results, in the order of the operator's outputs. Those beyond what the node lists are dropped.
  void out(const Operand& operand) { results_.push_back(operand); }
  // Or: a plain function for what is no loop nest. Unknown shapes stay open until it has run.
  void host(std::vector<ValueType> outputs, HostKernel kernel);

  Lowered finish();

 private:
  const OpCall::Input& input(int index) const;
  Operand bind(int index, TensorType type);
  template <typename T>
  const T* find_attr(std::string_view name) const;

  const OpCall& call_;
  mutable int asked_ = 0;                      // inputs up to here have been asked about
  std::vector<std::optional<Operand>> bound_;  // operands already made, by input
  std::vector<int> operands_;
  std::vector<Operand> results_;
  std::vector<DType> moved_;  // types of the movable inputs
  std::optional<Lowered> host_;
};

// Thrown by a definition that needs what only run time knows; `lower` catches it.
struct NotKnownYet {};

}  // namespace aoe
