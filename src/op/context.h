#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "expr/builder.h"
#include "op/operator.h"

namespace aoe {

// An OpContext gives the definition of an operator access to a call and collects its results. It is
// also the builder of the call's workload.
class OpContext : public Builder {
 public:
  explicit OpContext(const OpCall& call) : call_(call) {}

  // Version of the operator set that the model imports.
  int opset() const { return call_.opset; }

  int input_count() const { return static_cast<int>(call_.inputs.size()); }
  bool has(int input) const;
  // Fails unless the first `inputs` inputs are present. For host kernels, which read their inputs
  // only when they run.
  void need(int inputs) const;
  const ValueType& type(int input) const { return this->input(input).type; }
  DType dtype(int input) const;
  const Shape& shape(int input) const;
  int64_t rank(int input) const { return static_cast<int64_t>(shape(input).size()); }

  // Returns the input as an operand of the workload. Fails if it is missing.
  Operand in(int input);
  // The same for elements that the operator moves but never computes with: these may be strings.
  // The workload then moves an i64 number in place of each string (0 for the empty string), and all
  // outputs are strings (see string_mover.h).
  Operand movable(int input);

  // Contents that determine shapes or structure (Reshape's shape, Slice's bounds). If they are not
  // known yet, NotKnownYet ends the definition, and the call is lowered again at run time.
  const Value& value(int input) const;
  const Tensor& tensor(int input) const { return value(input).tensor(); }
  std::vector<int64_t> ints(int input) const { return tensor(input).to_ints(); }
  int64_t integer_in(int input) const;
  double number_in(int input) const;

  // Attributes. Those without a default are required. An attribute of another type is an error.
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
  // Returns whether the attribute holds a subgraph, for a host kernel to run.
  bool has_body(std::string_view name) const;

  int output_count() const { return static_cast<int>(call_.wanted.size()); }
  bool wants(int output) const;

  // Appends a result, in the order of the operator's outputs. Results beyond the outputs of the
  // node are dropped.
  void out(const Operand& operand) { results_.push_back(operand); }
  // Implements the call by a host kernel instead of a workload. Unknown shapes in `outputs` stay
  // open until it has run.
  void host(std::vector<ValueType> outputs, HostKernel kernel);

  Lowered finish();

 private:
  const OpCall::Input& input(int index) const;
  Operand bind(int index, TensorType type);
  template <typename T>
  const T* find_attr(std::string_view name) const;

  const OpCall& call_;
  mutable int asked_ = 0;  // number of inputs that the definition has asked about
  std::vector<std::optional<Operand>> bound_;  // by input: its operand, once bound
  std::vector<int> operands_;
  std::vector<Operand> results_;
  std::vector<DType> moved_;  // types of the movable inputs
  std::optional<Lowered> host_;
};

// Thrown by a definition that needs a type, shape or value that is known only at run time; `lower`
// catches it.
struct NotKnownYet {};

}  // namespace aoe
