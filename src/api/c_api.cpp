#include <algorithm>
#include <cstring>
#include <sstream>

#include "aoe/aoe.h"
#include "codegen/cpu_backend.h"
#include "op/onnx_types.h"
#include "runtime/loaded_model.h"

// The public C interface (include/aoe/aoe.h). In reading order:
//   report, guarded              exceptions become statuses and messages
//   known_part, options_of       options of callers of any version
//   view_of, describe_all        inputs and outputs, checked and described
//   run, run_on_values               on the caller's memory, or on separate Values
//   aoe_...                      the exported functions
//
// Invariants: no exception leaves an exported function. Memory of a caller is neither kept nor
// freed; memory that a run allocates for an output belongs to aoe_output::owner.

struct aoe_model {
  aoe::LoadedModel model;
  std::vector<aoe_info> inputs;  // they point into `model` and `shapes`
  std::vector<aoe_info> outputs;
  std::vector<std::vector<int64_t>> shapes;
};

namespace aoe {
namespace {

thread_local std::string last_error;

aoe_status report(aoe_status status, std::string_view message) noexcept {
  try {
    last_error = message;
  } catch (const std::bad_alloc&) {
    last_error.clear();
  }
  return status;
}

template <typename Fn>
aoe_status guarded(const Fn& fn) noexcept {
  try {
    return fn();
  } catch (const std::bad_alloc&) {
    return report(AOE_NO_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return report(AOE_FAILED, error.what());
  }
}

std::optional<DType> dtype_of(aoe_dtype dtype) {
  try {
    return dtype_from_onnx(dtype);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// The element type of a tensor of numbers; nullopt for other values.
std::optional<DType> number_type(const ValueType& type) {
  const bool numbers = type.kind == ValueType::Kind::tensor && type.dtype != DType::string;
  return numbers ? type.dtype : std::nullopt;
}

aoe_info info_of(const Port& port, std::vector<std::vector<int64_t>>& shapes) {
  aoe_info info{port.name.c_str(), AOE_UNKNOWN, 0, nullptr, 0};
  if (port.type.kind != ValueType::Kind::tensor) return info;
  if (port.type.dtype) info.dtype = onnx_code(*port.type.dtype);
  if (!port.dims) return info;
  std::vector<int64_t>& shape = shapes.emplace_back();
  shape.reserve(port.dims->size() + 1);  // so that the shape of a scalar is not NULL
  for (const Dim& dim : *port.dims) shape.push_back(dim.size);
  info.rank = shape.size();
  info.shape = shape.data();
  if (number_type(port.type) && port.type.is_static()) {
    info.bytes = static_cast<size_t>(bytes_of(port.type.tensor()));
  }
  return info;
}

// Returns the members that this version knows. Callers of another version may have fewer, or more
// if these are zero.
aoe_options known_part(const aoe_options* given) {
  aoe_options options{};
  if (given == nullptr) return options;
  require(given->size >= offsetof(aoe_options, kernels),
          "options.size is {}; sizeof(aoe_options) is expected", given->size);
  std::memcpy(&options, given, std::min(given->size, sizeof options));
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  const bool beyond =
      std::any_of(bytes + std::min(given->size, sizeof options), bytes + given->size,
                  [](unsigned char byte) { return byte != 0; });
  require(!beyond, "options sets members that version {} does not have", AOE_VERSION);
  return options;
}

// Called before a shape is read: a rank that was not set may be any number.
void require_rank(std::string_view input, size_t rank) {
  if (rank <= AOE_MAX_RANK) return;
  fail("input '{}' is given {} dimensions, more than {}", input, rank,
       static_cast<int>(AOE_MAX_RANK));
}

LoadOptions options_of(const aoe_options* given) {
  const aoe_options options = known_part(given);
  LoadOptions result;
  result.threads = options.threads;
  if (options.kernels != nullptr) result.kernels = options.kernels;
  if (options.op_select_implmode != nullptr) result.impl.mode = options.op_select_implmode;
  if (options.optypelist_for_implmode != nullptr) {
    require(*options.optypelist_for_implmode != 0,
            "options.optypelist_for_implmode is empty: NULL is expected for all operators");
    std::istringstream list(options.optypelist_for_implmode);
    for (std::string type; std::getline(list, type, ',');) result.impl.op_types.push_back(type);
  }
  result.impl.allow_strassen = options.allow_strassen != 0;
  require(options.input_shapes != nullptr || options.input_shape_count == 0,
          "options.input_shapes is NULL, but there are {}", options.input_shape_count);
  for (size_t i = 0; i < options.input_shape_count; ++i) {
    const aoe_input_shape& input = options.input_shapes[i];
    require(input.name != nullptr && (input.shape != nullptr || input.rank == 0),
            "options.input_shapes[{}] has no name or no shape", i);
    require_rank(input.name, input.rank);
    const bool is_new =
        result.input_shapes.try_emplace(input.name, input.shape, input.shape + input.rank).second;
    require(is_new, "options.input_shapes names '{}' twice", input.name);
  }
  return result;
}

aoe_model* made(LoadedModel loaded) {
  auto model = std::make_unique<aoe_model>(aoe_model{std::move(loaded), {}, {}, {}});
  for (const Port& port : model->model.inputs()) {
    model->inputs.push_back(info_of(port, model->shapes));
  }
  for (const Port& port : model->model.outputs()) {
    model->outputs.push_back(info_of(port, model->shapes));
  }
  return model.release();
}

std::span<const int64_t> shape_of(const Port& port, const aoe_input& input) {
  if (input.shape != nullptr) {
    require_rank(port.name, input.rank);
    return {input.shape, input.rank};
  }
  if (!port.type.is_static()) {
    fail("input '{}' is {}: a run must give its shape", port.name, port.describe());
  }
  return *port.type.shape;
}

// Called in every run: texts for messages are only made if a check fails.
TensorView view_of(const Port& port, const aoe_input& input) {
  if (input.data == nullptr && input.dtype == AOE_UNKNOWN) {
    fail("input '{}' ({}) is not given", port.name, port.describe());
  }
  const auto dtype = dtype_of(input.dtype);
  if (!dtype || dtype == DType::string) {
    fail("input '{}' is {}; element type {} cannot be given", port.name, port.describe(),
         input.dtype);
  }
  const TensorView view{*dtype, shape_of(port, input), const_cast<void*>(input.data)};
  const int64_t bytes = bytes_of(view.type());
  if (static_cast<size_t>(bytes) != input.bytes) {
    fail("input '{}': {} has {} bytes, {} are given", port.name, to_string(view.type()), bytes,
         input.bytes);
  }
  if (input.data == nullptr && bytes > 0) {
    fail("input '{}' is NULL but has {} bytes", port.name, bytes);
  }
  return view;
}

void check_output(const Port& port, const aoe_output& output, const ValueType& type) {
  require(number_type(type) && type.shape, "output '{}' is {}, which this interface cannot pass",
          port.name, to_string(type));
  require(output.data == nullptr || dtype_of(output.dtype) == type.dtype,
          "output '{}' is {}; the memory given is for {}", port.name, to_string(type),
          aoe_dtype_name(output.dtype));
  require(type.shape->size() <= AOE_MAX_RANK, "output '{}' has {} dimensions, more than {}",
          port.name, type.shape->size(), static_cast<int>(AOE_MAX_RANK));
}

// Sets the size and shape of every output. Returns false, with an error reported, if the memory
// given for one is too small.
bool describe_all(const std::vector<Port>& ports, const std::vector<ValueType>& types,
                  std::span<aoe_output> outputs) {
  bool fits = true;
  for (size_t i = 0; i < outputs.size(); ++i) {
    aoe_output& output = outputs[i];
    check_output(ports[i], output, types[i]);
    output.bytes = static_cast<size_t>(bytes_of(types[i].tensor()));
    output.rank = types[i].shape->size();
    std::copy(types[i].shape->begin(), types[i].shape->end(), output.shape);
    if (output.data == nullptr || output.bytes <= output.room) continue;
    if (fits) {
      report(AOE_TOO_SMALL, fmt::format("output '{}' takes {} bytes, the memory given has {}",
                                        ports[i].name, output.bytes, output.room));
    }
    fits = false;
  }
  return fits;
}

// Makes the caller the owner of a tensor: aoe_output_free deletes it.
void release_to_caller(Tensor owned, aoe_output& output) {
  output.dtype = onnx_code(owned.dtype());
  output.room = output.bytes;
  auto owner = std::make_unique<Tensor>(std::move(owned));
  output.data = owner->raw();
  output.owner = owner.release();
}

// Runs on separate Values: for outputs whose types only a run determines, and for models with
// inputs that are no tensors.
aoe_status run_on_values(const LoadedModel& model, std::span<const aoe_input> inputs,
                         std::span<aoe_output> outputs) {
  std::map<std::string, Value> feeds;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Port& port = model.inputs()[i];
    const bool left_out = inputs[i].data == nullptr && port.type.kind == ValueType::Kind::optional;
    if (left_out) continue;
    const TensorView view = view_of(port, inputs[i]);
    feeds[port.name] = Tensor::over(view.type(), view.elements, nullptr);
  }
  std::vector<Value> values = model.run(feeds);
  std::vector<ValueType> types;
  for (const Value& value : values) types.push_back(value.type());
  if (!describe_all(model.outputs(), types, outputs)) return AOE_TOO_SMALL;
  for (size_t i = 0; i < outputs.size(); ++i) {
    Tensor tensor = values[i].tensor();
    values[i] = {};
    if (outputs[i].data != nullptr) std::memcpy(outputs[i].data, tensor.raw(), outputs[i].bytes);
    else release_to_caller(tensor.is_sole_owner() ? tensor : tensor.copied(), outputs[i]);
  }
  return AOE_OK;
}

aoe_status run(const LoadedModel& model, std::span<const aoe_input> inputs,
               std::span<aoe_output> outputs) {
  const std::vector<Port>& sources = model.inputs();
  require(inputs.size() == sources.size(), "the model has {} inputs, {} are given", sources.size(),
          inputs.size());
  require(outputs.size() == model.outputs().size(), "the model has {} outputs, {} are given",
          model.outputs().size(), outputs.size());
  const bool viewed = std::all_of(sources.begin(), sources.end(), [](const Port& port) {
    return port.type.kind == ValueType::Kind::tensor;
  });
  if (!viewed) return run_on_values(model, inputs, outputs);
  std::vector<TensorView> given;
  for (size_t i = 0; i < inputs.size(); ++i) given.push_back(view_of(sources[i], inputs[i]));
  const std::vector<ValueType> types = model.output_types(given);
  const bool known = std::all_of(types.begin(), types.end(),
                                 [](const ValueType& type) { return type.is_static(); });
  if (!known) return run_on_values(model, inputs, outputs);
  if (!describe_all(model.outputs(), types, outputs)) return AOE_TOO_SMALL;
  std::vector<Tensor> found(outputs.size());  // memory for outputs whose `data` is NULL
  std::vector<TensorView> wanted;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].data == nullptr) found[i] = Tensor(types[i].tensor());
    wanted.push_back(
        {*types[i].dtype, *types[i].shape, found[i].empty() ? outputs[i].data : found[i].raw()});
  }
  model.run_into(given, wanted);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!found[i].empty()) release_to_caller(std::move(found[i]), outputs[i]);
  }
  return AOE_OK;
}

}  // namespace
}  // namespace aoe

using namespace aoe;

const char* aoe_version(void) { return AOE_VERSION; }

const char* aoe_error(void) { return last_error.c_str(); }

aoe_status aoe_model_load(const char* file, const aoe_options* options, aoe_model** model) {
  return guarded([&] {
    require(file != nullptr && model != nullptr,
            "aoe_model_load needs a file and a place for the model");
    *model = made(LoadedModel::from_file(file, options_of(options), host_backend()));
    return AOE_OK;
  });
}

aoe_status aoe_model_load_bytes(const void* bytes, size_t size, const aoe_options* options,
                                aoe_model** model) {
  return guarded([&] {
    require((bytes != nullptr || size == 0) && model != nullptr,
            "aoe_model_load_bytes needs bytes and a place for the model");
    const std::span contents(static_cast<const std::byte*>(bytes), size);
    *model = made(LoadedModel::from_bytes(contents, options_of(options), host_backend()));
    return AOE_OK;
  });
}

void aoe_model_free(aoe_model* model) { delete model; }

size_t aoe_model_input_count(const aoe_model* model) {
  return model != nullptr ? model->inputs.size() : 0;
}

size_t aoe_model_output_count(const aoe_model* model) {
  return model != nullptr ? model->outputs.size() : 0;
}

const aoe_info* aoe_model_input(const aoe_model* model, size_t index) {
  return index < aoe_model_input_count(model) ? &model->inputs[index] : nullptr;
}

const aoe_info* aoe_model_output(const aoe_model* model, size_t index) {
  return index < aoe_model_output_count(model) ? &model->outputs[index] : nullptr;
}

aoe_status aoe_model_run(const aoe_model* model, const aoe_input* inputs, size_t input_count,
                         aoe_output* outputs, size_t output_count) {
  return guarded([&] {
    require(model != nullptr && (inputs != nullptr || input_count == 0) &&
                (outputs != nullptr || output_count == 0),
            "aoe_model_run needs a model, its inputs and its outputs");
    return run(model->model, {inputs, input_count}, {outputs, output_count});
  });
}

void aoe_output_free(aoe_output* output) {
  if (output == nullptr || output->owner == nullptr) return;
  delete static_cast<Tensor*>(output->owner);
  output->owner = nullptr;
  output->data = nullptr;
  output->room = 0;
}

const char* aoe_dtype_name(aoe_dtype dtype) {
  const auto known = dtype_of(dtype);
  return known ? name(*known).data() : "unknown";
}

aoe_dtype aoe_dtype_named(const char* name) {
  const auto known = name != nullptr ? dtype_named(name) : std::nullopt;
  return known ? onnx_code(*known) : AOE_UNKNOWN;
}

size_t aoe_dtype_bytes(aoe_dtype dtype) {
  const auto known = dtype_of(dtype);
  return known && *known != DType::string ? static_cast<size_t>(info(*known).bytes) : 0;
}
