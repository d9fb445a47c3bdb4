#include "aoe/model.h"
#include "runtime/loaded_model.h"

// The public C++ interface: errors become values here.

namespace aoe {

struct Model::State {
  LoadedModel model;
};

namespace {

template <typename T, typename Fn>
Result<T> guarded(const Fn& fn) {
  try {
    return fn();
  } catch (const std::exception& error) {
    return Result<T>::failure(error.what());
  }
}

Tensor tensor_of(const std::string& name, const Array& array) {
  const auto dtype = dtype_named(array.dtype);
  require(dtype.has_value() && dtype != DType::string, "input '{}': '{}' is not an element type",
          name, array.dtype);
  const TensorType type{*dtype, array.shape};
  const int64_t bytes = checked_mul(type.count(), info(*dtype).bytes);
  require(bytes == static_cast<int64_t>(array.bytes.size()),
          "input '{}': {} has {} bytes, {} are given", name, to_string(type), bytes,
          array.bytes.size());
  return Tensor::over(type, array.bytes.data(), nullptr);
}

ArrayInfo info_of(const Port& port) {
  ArrayInfo info{port.name, std::string(port.type.dtype ? name(*port.type.dtype) : "?"), {}};
  if (port.dims) {
    for (const Dim& dim : *port.dims) info.shape.push_back(dim.size);
  }
  return info;
}

std::vector<ArrayInfo> infos_of(const std::vector<Port>& ports) {
  std::vector<ArrayInfo> infos;
  for (const Port& port : ports) infos.push_back(info_of(port));
  return infos;
}

LoadOptions options_of(const Model::Options& options) {
  return {options.input_shapes, options.threads, options.kernels};
}

}  // namespace

Model::Model(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Result<Model> Model::load(const std::filesystem::path& file, const Options& options) {
  return guarded<Model>([&] {
    return Model(std::make_shared<State>(LoadedModel::from_file(file, options_of(options))));
  });
}

Result<Model> Model::load(std::span<const std::byte> model, const Options& options) {
  return guarded<Model>([&] {
    return Model(std::make_shared<State>(LoadedModel::from_bytes(model, options_of(options))));
  });
}

std::vector<ArrayInfo> Model::inputs() const { return infos_of(state_->model.inputs()); }
std::vector<ArrayInfo> Model::outputs() const { return infos_of(state_->model.outputs()); }

Result<std::map<std::string, Array>> Model::run(const std::map<std::string, Array>& inputs) const {
  return guarded<std::map<std::string, Array>>([&] {
    std::map<std::string, Value> feeds;
    for (const auto& [name, array] : inputs) feeds.emplace(name, tensor_of(name, array));
    const std::vector<Value> values = state_->model.run(feeds);
    std::map<std::string, Array> outputs;
    for (size_t i = 0; i < values.size(); ++i) {
      const std::string& output = state_->model.outputs()[i].name;
      require(values[i].is_tensor() && values[i].tensor().dtype() != DType::string,
              "output '{}' is {}, which an Array cannot hold", output, to_string(values[i].type()));
      const Tensor& tensor = values[i].tensor();
      outputs[output] = {std::string(name(tensor.dtype())),
                         tensor.shape(),
                         {tensor.raw(), tensor.raw() + tensor.bytes()}};
    }
    return outputs;
  });
}

}  // namespace aoe
