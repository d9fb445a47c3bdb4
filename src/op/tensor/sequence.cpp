#include "op/families.h"
#include "op/host_kernel.h"
#include "op/operands.h"
#include "op/tensor/movement.h"

namespace aoe {
namespace {

// Bound on the number of parts: an axis of a tensor without elements may be arbitrarily long.
constexpr int64_t kMaxParts = int64_t{1} << 24;

ValueType sequence_like(const OpContext& op, int input) {
  return ValueType::sequence_of(op.type(input).dtype);
}

// A tensor type of which only the element type is known.
ValueType tensor_of(std::optional<DType> dtype) {
  ValueType type;
  type.dtype = dtype;
  return type;
}

void sequence_construct(OpContext& op) {
  op.need(1);
  op.host({sequence_like(op, 0)}, [](const HostCall& call) -> std::vector<Value> {
    for (const Value& value : call.inputs) {
      require(value.tensor().dtype() == call.inputs[0].tensor().dtype(),
              "a sequence of both {} and {}", name(call.inputs[0].tensor().dtype()),
              name(value.tensor().dtype()));
    }
    return {Value::sequence(call.inputs)};
  });
}

void sequence_empty(OpContext& op) {
  op.host({ValueType::sequence_of(dtype_attr(op, "dtype", DType::f32))},
          [](const HostCall&) -> std::vector<Value> { return {Value::sequence({})}; });
}

void sequence_at(OpContext& op) {
  op.need(2);
  op.host({tensor_of(op.type(0).dtype)}, [](const HostCall& call) -> std::vector<Value> {
    const std::vector<Value>& elements = call.inputs[0].elements();
    const int64_t at = normalize_index(only_int(call.inputs[1]), std::ssize(elements));
    return {elements[static_cast<size_t>(at)]};
  });
}

void sequence_insert(OpContext& op) {
  op.need(2);
  op.host({sequence_like(op, 0)}, [](const HostCall& call) -> std::vector<Value> {
    std::vector<Value> elements = call.inputs[0].elements();
    const Value& added = call.inputs[1];
    require(elements.empty() || elements[0].type().dtype == added.type().dtype,
            "{} cannot be put into a {}", to_string(added.type()),
            to_string(call.inputs[0].type()));
    const int64_t count = std::ssize(elements);
    int64_t at = given(call, 2) ? only_int(call.inputs[2]) : count;
    require(at >= -count && at <= count, "position {} in a sequence of {}", at, count);
    if (at < 0) at += count;
    elements.insert(elements.begin() + at, added);
    return {Value::sequence(std::move(elements))};
  });
}

void sequence_erase(OpContext& op) {
  op.need(1);
  op.host({sequence_like(op, 0)}, [](const HostCall& call) -> std::vector<Value> {
    std::vector<Value> elements = call.inputs[0].elements();
    const int64_t at = given(call, 1) ? only_int(call.inputs[1]) : -1;
    elements.erase(elements.begin() + normalize_index(at, std::ssize(elements)));
    return {Value::sequence(std::move(elements))};
  });
}

void sequence_length(OpContext& op) {
  op.need(1);
  op.host({TensorType{DType::i64, {}}}, [](const HostCall& call) -> std::vector<Value> {
    return {Tensor::scalar<int64_t>(std::ssize(call.inputs[0].elements()))};
  });
}

// Returns the lengths of the parts: `split` is one length for all (the last may be shorter), or one
// per part.
std::vector<int64_t> part_lengths(const Tensor& split, int64_t extent) {
  std::vector<int64_t> lengths = split.to_ints();
  if (split.rank() == 0) {
    const int64_t each = lengths[0];
    require(each > 0 && ceil_div(extent, each) <= kMaxParts, "parts of {} of an axis of {}", each,
            extent);
    lengths.assign(static_cast<size_t>(extent / each), each);
    if (extent % each > 0) lengths.push_back(extent % each);
  }
  require_parts(lengths, extent);
  return lengths;
}

void split_to_sequence(OpContext& op) {
  op.need(1);
  const int64_t axis = op.integer("axis", 0);
  const bool keep = op.flag("keepdims", true) || op.has(1);
  op.host({sequence_like(op, 0)}, [=](const HostCall& call) -> std::vector<Value> {
    const Tensor& x = call.inputs[0].tensor();
    const int64_t extent = view_along(x.shape(), axis).extent;
    const Tensor split = given(call, 1) ? call.inputs[1].tensor() : Tensor::scalar<int64_t>(1);
    std::vector<Value> parts;
    int64_t start = 0;
    for (const int64_t length : part_lengths(split, extent)) {
      parts.emplace_back(keep ? part(x, axis, start, length) : element(x, axis, start));
      start += length;
    }
    return {Value::sequence(std::move(parts))};
  });
}

void concat_from_sequence(OpContext& op) {
  op.need(1);
  const int64_t axis = op.integer("axis");
  const bool new_axis = op.flag("new_axis", false);
  op.host({tensor_of(op.type(0).dtype)}, [=](const HostCall& call) -> std::vector<Value> {
    std::vector<Tensor> parts;
    for (const Value& value : call.inputs[0].elements()) parts.push_back(value.tensor());
    return {new_axis ? stack(parts, axis) : join(parts, axis)};
  });
}

void sequence_map(OpContext& op) {
  op.need(1);
  const auto outputs = static_cast<size_t>(op.output_count());
  op.host(std::vector(outputs, ValueType::sequence_of(std::nullopt)),
          [=](const HostCall& call) -> std::vector<Value> {
            const size_t count = call.inputs[0].elements().size();
            std::vector<std::vector<Value>> results(outputs);
            for (size_t i = 0; i < count; ++i) {
              std::vector<Value> sample;
              for (const Value& value : call.inputs) {
                require(!value.is_sequence() || value.elements().size() == count,
                        "sequences of {} and {} elements", count,
                        value.is_sequence() ? value.elements().size() : 0);
                sample.push_back(value.is_sequence() ? value.elements()[i] : value);
              }
              const std::vector<Value> mapped = call.run_body("body", sample);
              require(mapped.size() >= outputs, "the body has {} outputs, the node {}",
                      mapped.size(), outputs);
              for (size_t output = 0; output < outputs; ++output) {
                results[output].push_back(mapped[output]);
              }
            }
            std::vector<Value> sequences;
            for (auto& result : results) sequences.push_back(Value::sequence(std::move(result)));
            return sequences;
          });
}

// A present optional is represented by its element, an absent one by an empty Value.
void optional(OpContext& op) {
  std::optional<DType> dtype;
  if (op.has(0)) dtype = op.type(0).dtype;
  op.host({ValueType::optional_of(dtype)}, [](const HostCall& call) -> std::vector<Value> {
    return {given(call, 0) ? call.inputs[0] : Value()};
  });
}

void optional_get_element(OpContext& op) {
  op.need(1);
  ValueType type = op.type(0);
  if (type.kind == ValueType::Kind::optional) type = tensor_of(std::nullopt);
  op.host({type}, [](const HostCall& call) -> std::vector<Value> {
    require(given(call, 0), "the optional has no element");
    return {call.inputs[0]};
  });
}

void optional_has_element(OpContext& op) {
  op.host({TensorType{DType::boolean, {}}}, [](const HostCall& call) -> std::vector<Value> {
    return {Tensor::scalar(given(call, 0))};
  });
}

}  // namespace

const OpTable& sequence_operators() {
  static const OpTable table{
      {"ConcatFromSequence", 11, concat_from_sequence},
      {"Optional", 15, optional},
      {"OptionalGetElement", 15, optional_get_element},
      {"OptionalHasElement", 15, optional_has_element},
      {"SequenceAt", 11, sequence_at},
      {"SequenceConstruct", 11, sequence_construct},
      {"SequenceEmpty", 11, sequence_empty},
      {"SequenceErase", 11, sequence_erase},
      {"SequenceInsert", 11, sequence_insert},
      {"SequenceLength", 11, sequence_length},
      {"SequenceMap", 17, sequence_map},
      {"SplitToSequence", 11, split_to_sequence},
  };
  return table;
}

}  // namespace aoe
