#include "op/context.h"

#include "op/text/string_mover.h"

namespace aoe {
namespace {

template <typename T>
constexpr std::string_view kAttributeKind = "";
template <>
constexpr std::string_view kAttributeKind<int64_t> = "an integer";
template <>
constexpr std::string_view kAttributeKind<float> = "a number";
template <>
constexpr std::string_view kAttributeKind<std::string> = "a string";
template <>
constexpr std::string_view kAttributeKind<Tensor> = "a tensor";
template <>
constexpr std::string_view kAttributeKind<std::vector<int64_t>> = "a list of integers";
template <>
constexpr std::string_view kAttributeKind<std::vector<float>> = "a list of numbers";
template <>
constexpr std::string_view kAttributeKind<std::vector<std::string>> = "a list of strings";

template <typename T>
const T& required(const T* found, std::string_view name) {
  require(found != nullptr, "attribute '{}' is missing", name);
  return *found;
}

}  // namespace

const OpCall::Input& OpContext::input(int index) const {
  require(has(index), "input {} is missing", index);
  return call_.inputs[static_cast<size_t>(index)];
}

bool OpContext::has(int input) const {
  asked_ = std::max(asked_, input + 1);
  return input < input_count() && call_.inputs[static_cast<size_t>(input)].present;
}

void OpContext::need(int inputs) const {
  for (int i = 0; i < inputs; ++i) input(i);
}

DType OpContext::dtype(int index) const {
  const ValueType& type = input(index).type;
  if (!type.dtype) throw NotKnownYet{};
  return *type.dtype;
}

const Shape& OpContext::shape(int index) const {
  const ValueType& type = input(index).type;
  require(type.kind == ValueType::Kind::tensor, "input {} is {}, not a tensor", index,
          to_string(type));
  if (!type.shape) throw NotKnownYet{};
  return *type.shape;
}

Operand OpContext::bind(int index, TensorType type) {
  const auto slot = static_cast<size_t>(index);
  if (bound_.size() <= slot) bound_.resize(slot + 1);
  if (!bound_[slot]) {
    bound_[slot] = Builder::input(std::move(type));
    operands_.push_back(index);
  }
  return *bound_[slot];
}

Operand OpContext::in(int index) {
  TensorType type{dtype(index), shape(index)};
  require(type.dtype != DType::string, "input {} holds strings, which this operator cannot take",
          index);
  return bind(index, std::move(type));
}

Operand OpContext::movable(int index) {
  const DType type = dtype(index);
  moved_.push_back(type);
  require((type == DType::string) == (moved_.front() == DType::string),
          "input {} is {} and another one {}", index, name(type), name(moved_.front()));
  return type == DType::string ? bind(index, {DType::i64, shape(index)}) : in(index);
}

const Value& OpContext::value(int index) const {
  const OpCall::Input& found = input(index);
  if (!found.value) throw NotKnownYet{};
  return *found.value;
}

int64_t OpContext::integer_in(int index) const {
  const Tensor& found = tensor(index);
  require(found.count() == 1, "input {} is {} where one number is expected", index,
          to_string(found.type()));
  return found.to_ints()[0];
}

double OpContext::number_in(int index) const {
  const Tensor& found = tensor(index);
  require(found.count() == 1, "input {} is {} where one number is expected", index,
          to_string(found.type()));
  return found.to_doubles()[0];
}

bool OpContext::has_attr(std::string_view name) const { return attributes().contains(name); }

template <typename T>
const T* OpContext::find_attr(std::string_view name) const {
  const auto found = attributes().find(name);
  if (found == attributes().end()) return nullptr;
  const T* value = std::get_if<T>(&found->second);
  require(value != nullptr, "attribute '{}' is not {}", name, kAttributeKind<T>);
  return value;
}

int64_t OpContext::integer(std::string_view name) const {
  return required(find_attr<int64_t>(name), name);
}

int64_t OpContext::integer(std::string_view name, int64_t otherwise) const {
  const int64_t* found = find_attr<int64_t>(name);
  return found ? *found : otherwise;
}

double OpContext::real(std::string_view name) const {
  return required(find_attr<float>(name), name);
}

double OpContext::real(std::string_view name, double otherwise) const {
  const float* found = find_attr<float>(name);
  return found ? *found : otherwise;
}

std::string OpContext::text(std::string_view name) const {
  return required(find_attr<std::string>(name), name);
}

std::string OpContext::text(std::string_view name, const std::string& otherwise) const {
  const std::string* found = find_attr<std::string>(name);
  return found ? *found : otherwise;
}

std::vector<int64_t> OpContext::integers(std::string_view name) const {
  return required(find_attr<std::vector<int64_t>>(name), name);
}

std::vector<int64_t> OpContext::integers(std::string_view name,
                                         const std::vector<int64_t>& otherwise) const {
  const auto* found = find_attr<std::vector<int64_t>>(name);
  return found ? *found : otherwise;
}

std::vector<double> OpContext::reals(std::string_view name, std::vector<double> otherwise) const {
  const auto* found = find_attr<std::vector<float>>(name);
  return found ? std::vector<double>(found->begin(), found->end()) : std::move(otherwise);
}

std::vector<std::string> OpContext::texts(std::string_view name) const {
  const auto* found = find_attr<std::vector<std::string>>(name);
  return found ? *found : std::vector<std::string>{};
}

const Tensor& OpContext::tensor_attr(std::string_view name) const {
  return required(find_attr<Tensor>(name), name);
}

bool OpContext::has_body(std::string_view name) const {
  return std::find(call_.bodies.begin(), call_.bodies.end(), name) != call_.bodies.end();
}

bool OpContext::wants(int output) const {
  return output < output_count() && call_.wanted[static_cast<size_t>(output)];
}

void OpContext::host(std::vector<ValueType> outputs, HostKernel kernel) {
  host_.emplace();
  host_->outputs = std::move(outputs);
  host_->host = std::move(kernel);
}

Lowered OpContext::finish() {
  Lowered lowered;
  if (host_) {
    lowered = std::move(*host_);
  } else {
    if (results_.size() > static_cast<size_t>(output_count())) {
      results_.resize(static_cast<size_t>(output_count()));
    }
    const bool strings = !moved_.empty() && moved_.front() == DType::string;
    for (const Operand& result : results_) {
      lowered.outputs.emplace_back(
          TensorType{strings ? DType::string : result.dtype, result.shape});
    }
    // Extra inputs are detected by `asked_`: a definition asks about every input that its operator
    // has.
    require(input_count() <= asked_, "it has {} inputs; at most {} are expected", input_count(),
            asked_);
    Workload workload = Builder::finish(results_);
    verify(workload);
    if (strings) {
      lowered.host = string_mover(std::move(workload), std::move(operands_));
    } else {
      lowered.workload = std::move(workload);
      lowered.operands = std::move(operands_);
    }
  }
  for (size_t i = lowered.outputs.size(); i < call_.wanted.size(); ++i) {
    require(!call_.wanted[i], "output {} is not supported", i);
  }
  lowered.complete = true;
  return lowered;
}

Lowered lower(const OpDef& def, const OpCall& call) {
  OpContext context(call);
  try {
    def.define(context);
    return context.finish();
  } catch (const NotKnownYet&) {
    Lowered unknown;
    unknown.outputs.resize(call.wanted.size());
    return unknown;
  } catch (const std::bad_alloc&) {
    throw Error("out of memory");
  }
}

}  // namespace aoe
