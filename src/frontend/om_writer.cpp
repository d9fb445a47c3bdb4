#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/hash.h"
#include "frontend/om.pb.h"
#include "frontend/om_format.h"

namespace aoe {
namespace {

namespace fs = std::filesystem;

template <typename Field>
void add_all(Field& field, const std::vector<int>& ids) {
  field.Add(ids.begin(), ids.end());
}

// Converts a model to the messages of its structure, and collects the weights to which they refer.
class OmWriter {
 public:
  void write(const OmModel& model, om::Model& to) {
    to.set_product_version(AOE_VERSION);
    to.set_soc_version(model.soc_version);
    to.set_instruction_set(model.instruction_set);
    to.set_threads(model.threads);
    write_graph(model.graph, *to.mutable_graph(), 0);
    for (const Tensor& weight : weights_) {
      om::Weight& entry = *to.add_weights();
      entry.set_bytes(static_cast<uint64_t>(weight.bytes()));
      entry.set_checksum(checksum({weight.raw(), static_cast<size_t>(weight.bytes())}));
    }
    for (const auto& [key, text] : model.policies) {
      om::Policy& policy = *to.add_policies();
      policy.set_workload(key);
      policy.set_text(text);
    }
  }

  const std::vector<Tensor>& weights() const { return weights_; }

 private:
  void write_graph(const Graph& graph, om::Graph& to, int depth) {
    require(depth <= kMostOmNesting, "subgraphs in it are more than {} deep", kMostOmNesting);
    to.set_name(graph.name);
    const std::vector<int> numbers = write_values(graph, to);
    const auto renumbered = [&](std::vector<int> ids) {
      for (int& id : ids) {
        if (id >= 0) id = numbers[static_cast<size_t>(id)];
      }
      return ids;
    };
    add_all(*to.mutable_inputs(), renumbered(graph.inputs));
    const std::vector<int> outputs = renumbered(graph.outputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      om::Output& output = *to.add_outputs();
      output.set_value(outputs[i]);
      output.set_name(graph.output_names[i]);
    }
    for (const Node& node : graph.nodes) {
      om::Node& made = *to.add_nodes();
      made.set_domain(std::string(node.def->domain));
      made.set_op(std::string(node.def->name));
      made.set_opset(node.opset);
      made.set_name(node.name);
      made.set_high_precision(node.numerics == Numerics::direct);
      add_all(*made.mutable_inputs(), renumbered(node.inputs));
      add_all(*made.mutable_outputs(), renumbered(node.outputs));
      for (const auto& [name, value] : node.attributes) {
        om::Attribute& attribute = *made.add_attributes();
        attribute.set_name(name);
        std::visit([&](const auto& v) { write_attribute(v, attribute); }, value);
      }
      for (const Body& body : node.bodies) {
        om::Body& inner = *made.add_bodies();
        inner.set_attribute(body.attribute);
        add_all(*inner.mutable_captured(), renumbered(body.captured));
        write_graph(*body.graph, *inner.mutable_graph(), depth + 1);
      }
    }
  }

  // Writes the values that are used; returns the new number of each, -1 if it is not used.
  std::vector<int> write_values(const Graph& graph, om::Graph& to) {
    std::vector<bool> used(graph.values.size());
    std::vector<bool> input(graph.values.size());
    const auto use = [&](const std::vector<int>& ids, std::vector<bool>& marks) {
      for (const int id : ids) {
        if (id >= 0) marks[static_cast<size_t>(id)] = true;
      }
    };
    use(graph.inputs, used);
    use(graph.inputs, input);
    use(graph.outputs, used);
    for (const Node& node : graph.nodes) {
      use(node.inputs, used);
      use(node.outputs, used);
      for (const Body& body : node.bodies) use(body.captured, used);
    }
    std::vector<int> numbers(graph.values.size(), -1);
    for (size_t i = 0; i < graph.values.size(); ++i) {
      if (!used[i]) continue;
      numbers[i] = to.values_size();
      const GraphValue& value = graph.values[i];
      om::Value& made = *to.add_values();
      made.set_name(value.name);
      if (value.is_constant()) write_tensor(value.constant, *made.mutable_constant());
      // Types of results are inferred on load, the shape of an input follows from its dimensions.
      if (input[i]) {
        ValueType type = value.type;
        type.shape.reset();
        write_type(type, *made.mutable_type());
      }
      if (value.declared) write_type(*value.declared, *made.mutable_declared());
      if (value.dims) write_dims(*value.dims, *made.mutable_dims());
    }
    return numbers;
  }

  void write_tensor(const Tensor& tensor, om::Tensor& to) {
    to.set_dtype(std::string(name(tensor.dtype())));
    to.mutable_shape()->Add(tensor.shape().begin(), tensor.shape().end());
    if (tensor.dtype() == DType::string) {
      const auto* texts = tensor.data<std::string>();
      to.mutable_strings()->mutable_elements()->Add(texts, texts + tensor.count());
      return;
    }
    // Tensors that share their elements share a weight.
    const auto [known, fresh] =
        numbers_.emplace(std::pair(tensor.raw(), tensor.bytes()), weights_.size());
    if (fresh) weights_.push_back(tensor);
    to.set_weight(static_cast<uint32_t>(known->second));
  }

  static void write_type(const ValueType& type, om::ValueType& to) {
    to.set_kind(static_cast<om::ValueType::Kind>(type.kind));
    if (type.dtype) to.set_dtype(std::string(name(*type.dtype)));
    if (!type.shape) return;
    to.mutable_shape()->mutable_extents()->Add(type.shape->begin(), type.shape->end());
  }

  static void write_dims(const std::vector<Dim>& dims, om::Dims& to) {
    for (const Dim& dim : dims) {
      om::Dim& made = *to.add_dims();
      made.set_size(dim.size);
      made.set_symbol(dim.symbol);
    }
  }

  static void write_attribute(int64_t value, om::Attribute& to) { to.set_integer(value); }
  static void write_attribute(float value, om::Attribute& to) { to.set_real(value); }
  static void write_attribute(const std::string& value, om::Attribute& to) { to.set_text(value); }
  void write_attribute(const Tensor& value, om::Attribute& to) {
    write_tensor(value, *to.mutable_tensor());
  }
  static void write_attribute(const ValueType& value, om::Attribute& to) {
    write_type(value, *to.mutable_type());
  }
  static void write_attribute(const std::vector<int64_t>& values, om::Attribute& to) {
    to.mutable_integers()->mutable_elements()->Add(values.begin(), values.end());
  }
  static void write_attribute(const std::vector<float>& values, om::Attribute& to) {
    to.mutable_reals()->mutable_elements()->Add(values.begin(), values.end());
  }
  static void write_attribute(const std::vector<std::string>& values, om::Attribute& to) {
    to.mutable_texts()->mutable_elements()->Add(values.begin(), values.end());
  }
  void write_attribute(const std::vector<Tensor>& values, om::Attribute& to) {
    to.mutable_tensors();
    for (const Tensor& value : values) write_tensor(value, *to.mutable_tensors()->add_elements());
  }

  std::vector<Tensor> weights_;
  std::map<std::pair<const std::byte*, int64_t>, size_t> numbers_;
};

// The header and the structure with its padding: the file up to the first weight.
std::string front_of(const om::Model& structure) {
  std::string front(sizeof(OmHeader), '\0');
  require(structure.ByteSizeLong() < kMostOmStructure,
          "its structure has {} bytes without the weights; at most {} are possible",
          structure.ByteSizeLong(), kMostOmStructure);
  structure.AppendToString(&front);
  OmHeader header;
  header.structure_bytes = front.size() - sizeof header;
  front.resize(static_cast<size_t>(om_aligned(static_cast<int64_t>(front.size()))));
  header.checksum = om_checksum(std::as_bytes(std::span(front)), header);
  std::memcpy(front.data(), &header, sizeof header);
  return front;
}

void write_parts(const File& file, const std::string& front, const std::vector<Tensor>& weights) {
  bool good = write_all(file, front);
  const std::string zeros(kOmAlignment, '\0');
  for (const Tensor& weight : weights) {
    const auto bytes = static_cast<size_t>(weight.bytes());
    const auto padding = static_cast<size_t>(om_aligned(weight.bytes()) - weight.bytes());
    good = good && write_all(file, {reinterpret_cast<const char*>(weight.raw()), bytes}) &&
           write_all(file, std::string_view(zeros).substr(0, padding));
  }
  require(good, "it cannot be written: {}", std::strerror(errno));
}

}  // namespace

int64_t write_om(const fs::path& file, const OmModel& model) {
  try {
    om::Model structure;
    OmWriter writer;
    writer.write(model, structure);
    const std::string front = front_of(structure);
    replace_file(file,
                 [&](const File& temporary) { write_parts(temporary, front, writer.weights()); });
    auto bytes = static_cast<int64_t>(front.size());
    for (const Tensor& weight : writer.weights()) bytes += om_aligned(weight.bytes());
    return bytes;
  } catch (const Error& error) {
    throw error.within(fmt::format("'{}'", file.string()));
  }
}

}  // namespace aoe
