#include "runtime/loaded_model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/hash.h"
#include "base/notice.h"
#include "device/cores.h"
#include "frontend/onnx.h"
#include "graph/simplify.h"
#include "policy/policy_text.h"

// Loads models and runs them on checked inputs. In reading order:
//   engine_of, stored_policies   threads, backend, and policies from banks and .om files
//   store_policies               policies of a compiled model, for an .om file
//   Symbols, fix_shapes          sizes of symbolic dimensions, from options or inputs
//   check_feed, check_view       the inputs of a run against what the model declares
//   LoadedModel                  loaded_from and the constructor load, the others run
//
// Invariant: exactly one of `only_` (all input types are fixed) and `runner_` is set.

namespace aoe {
namespace {

Port input_port(const GraphValue& value) { return {value.name, value.type, value.dims}; }

Port output_port(const GraphValue& value, const std::string& name) {
  return {name, value.declared.value_or(value.type), value.dims};
}

void check_declared(const Port& output, const ValueType& type) {
  require(!output.type.dtype || !type.dtype || *output.type.dtype == *type.dtype,
          "output '{}' is declared as {}, but it is {}", output.name, output.describe(),
          to_string(type));
}

constexpr int kMostThreads = 1024;

Engine engine_of(const LoadOptions& options, const std::shared_ptr<const Backend>& backend) {
  require(options.threads >= 0 && options.threads <= kMostThreads,
          "threads is {}; a number from 0 to {} is expected, 0 stands for all cores",
          options.threads, kMostThreads);
  Engine engine{options.threads > 0 ? options.threads : usable_cores(),
                backend_for(backend, options.kernels)};
  engine.keep_weights = options.keep_weights;
  return engine;
}

// Returns the policies in the model's file, if they are for this target; else reports why not.
std::map<uint64_t, std::string> policies_for(const Target& target, OmModel& model,
                                             const std::string& place) {
  if (model.policies.empty()) return {};
  if (model.soc_version != target.soc_version || model.instruction_set != target.instruction_set) {
    notice(fmt::format(
        "{} was made for {} with {}, this is {} with {}: the bank's or default policies are used",
        place, model.soc_version, model.instruction_set, target.soc_version,
        target.instruction_set));
    return {};
  }
  if (model.threads != target.threads) {
    notice(
        fmt::format("{} was made for {} thread{}, this is to run on {}: the bank's or default "
                    "policies are used",
                    place, model.threads, model.threads == 1 ? "" : "s", target.threads));
    return {};
  }
  return std::move(model.policies);
}

// Returns null if there is neither a bank, nor a policy in the model's file, nor graph times.
std::shared_ptr<const StoredPolicies> stored_policies(OmModel& model, const Engine& engine,
                                                      const LoadOptions& options,
                                                      const std::string& place) {
  if (!engine.backend) return nullptr;
  const Target target = target_of(engine.backend->device(), engine.threads);
  std::map<uint64_t, std::string> with_model = policies_for(target, model, place);
  const bool none = with_model.empty() && options.graph_times.empty();
  auto stored = std::make_shared<const StoredPolicies>(bank_places(target.soc_version), target,
                                                       std::move(with_model), options.graph_times);
  return none && !stored->has_banks() ? nullptr : stored;
}

void store_policies(const Executable& executable, const Engine& engine, OmModel& stored) {
  if (!engine.backend) return;
  const Target target = target_of(engine.backend->device(), engine.threads);
  stored.soc_version = target.soc_version;
  stored.instruction_set = target.instruction_set;
  stored.threads = target.threads;
  for (const auto& kernel : executable.kernels()) {
    std::string& text = stored.policies[key_of(kernel->workload())];
    if (text.empty()) text = to_string(kernel->policy(), kernel->workload());
  }
  if (!engine.policies) return;
  for (const auto& [graph, times] : engine.policies->task_times_found()) {
    stored.policies[stable_hash(graph)] = times;
  }
}

std::string names_of(const std::vector<Port>& ports) {
  std::vector<std::string> names;
  for (const Port& port : ports) names.push_back(port.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

// Sizes of symbolic dimensions, collected from the shapes that are given for inputs.
class Symbols {
 public:
  // Checks a given size against a declared dimension, and records the size of its symbol.
  void bind(const Dim& dim, int64_t size, const std::string& input, size_t axis) {
    require(!dim.is_static() || dim.size == size,
            "input '{}': axis {} has {} elements, {} are given", input, axis, dim.size, size);
    if (dim.symbol.empty() || dim.is_static()) return;
    const auto [known, fresh] = sizes_.emplace(dim.symbol, size);
    require(fresh || known->second == size,
            "input '{}': axis {} is '{}', which is {} elsewhere; {} is given", input, axis,
            dim.symbol, known->second, size);
  }

  void resolve(Dim& dim) const {
    const auto known = sizes_.find(dim.symbol);
    if (!dim.is_static() && known != sizes_.end()) dim.size = known->second;
  }

 private:
  std::map<std::string, int64_t> sizes_;
};

// Restricts the algorithms of all nodes, those of bodies too, and collects the types of operators.
// What an .om file restricts stays restricted.
void restrict_numerics(Graph& graph, const ImplMode& impl, std::set<std::string_view>& types) {
  for (Node& node : graph.nodes) {
    types.insert(node.def->name);
    const Numerics allowed = impl.numerics_of(node.def->name);
    node.numerics = node.numerics == Numerics::direct ? Numerics::direct : allowed;
    for (Body& body : node.bodies) {
      Graph inner = *body.graph;
      restrict_numerics(inner, impl, types);
      body.graph = std::make_shared<const Graph>(std::move(inner));
    }
  }
}

void restrict_numerics(Graph& graph, const ImplMode& impl) {
  std::set<std::string_view> types;
  restrict_numerics(graph, impl, types);
  for (const std::string& listed : impl.op_types) {
    if (types.contains(listed)) continue;
    notice_once(fmt::format("optypelist_for_implmode: the model has no {}", listed));
  }
}

void fix_shapes(Graph& graph, const std::map<std::string, Shape>& shapes) {
  Symbols symbols;
  for (const auto& [name, shape] : shapes) {
    const auto found = std::find_if(graph.inputs.begin(), graph.inputs.end(),
                                    [&](int id) { return graph.value(id).name == name; });
    require(found != graph.inputs.end(), "input_shape names '{}', which is not an input", name);
    GraphValue& input = graph.value(*found);
    require(input.type.kind == ValueType::Kind::tensor, "input '{}' is {}: it has no shape", name,
            to_string(input.type));
    if (!input.dims) input.dims.emplace(shape.size());
    require(input.dims->size() == shape.size(), "input '{}' has {} dimensions, {} are given", name,
            input.dims->size(), shape.size());
    for (size_t i = 0; i < shape.size(); ++i) {
      require(shape[i] >= -1, "input '{}': {} is not a size", name, shape[i]);
      if (shape[i] < 0) continue;
      Dim& dim = (*input.dims)[i];
      symbols.bind(dim, shape[i], name, i);
      dim.size = shape[i];
    }
  }
  for (const int id : graph.inputs) {
    GraphValue& input = graph.value(id);
    if (input.dims) {
      for (Dim& dim : *input.dims) symbols.resolve(dim);
    }
    set_shape_if_fixed(input);
  }
}

void check_feed(const Port& port, const Value& value, Symbols& symbols) {
  const ValueType given = value.type();
  if (value.is_none()) {
    require(port.type.kind == ValueType::Kind::optional, "input '{}' is {}, nothing is given",
            port.name, port.describe());
    return;
  }
  const bool wants_tensor = port.type.kind == ValueType::Kind::tensor;
  require(port.type.kind == ValueType::Kind::optional || wants_tensor == value.is_tensor(),
          "input '{}' is {}, {} is given", port.name, port.describe(), to_string(given));
  require(!port.type.dtype || !given.dtype || port.type.dtype == given.dtype,
          "input '{}' is {}, {} is given", port.name, port.describe(), to_string(given));
  if (!port.dims || !value.is_tensor()) return;
  require(port.dims->size() == given.shape->size(), "input '{}' is {}, {} is given", port.name,
          port.describe(), to_string(given));
  for (size_t i = 0; i < port.dims->size(); ++i) {
    symbols.bind((*port.dims)[i], (*given.shape)[i], port.name, i);
  }
}

void check_count(const char* what, const std::vector<Port>& ports, size_t given) {
  if (ports.size() == given) return;
  fail("the model has {} {}s ({}), {} are given", ports.size(), what, names_of(ports), given);
}

// Called in every run: texts for messages are only made if a check fails.
void check_view(const Port& port, const TensorView& view, Symbols& symbols) {
  if (port.type.kind != ValueType::Kind::tensor || port.type.dtype == DType::string) {
    fail("input '{}' is {}, which cannot be passed as a caller's memory", port.name,
         port.describe());
  }
  if ((port.type.dtype && *port.type.dtype != view.dtype) ||
      (port.dims && port.dims->size() != view.shape.size())) {
    fail("input '{}' is {}, {} is given", port.name, port.describe(), to_string(view.type()));
  }
  for (size_t i = 0; port.dims && i < port.dims->size(); ++i) {
    symbols.bind((*port.dims)[i], view.shape[i], port.name, i);
  }
}

OmModel model_in(const std::filesystem::path& file) {
  return is_om(file) ? load_om(file) : OmModel{.graph = load_onnx(file)};
}

std::string place_of(const std::filesystem::path& file) {
  return fmt::format("model '{}'", file.string());
}

}  // namespace

std::string Port::describe() const {
  if (!dims || type.kind != ValueType::Kind::tensor) return to_string(type);
  std::vector<std::string> sizes;
  for (const Dim& dim : *dims) sizes.push_back(to_string(dim));
  return fmt::format("{}[{}]", type.dtype ? aoe::name(*type.dtype) : "?", fmt::join(sizes, ", "));
}

LoadedModel LoadedModel::from_file(const std::filesystem::path& file, const LoadOptions& options,
                                   const std::shared_ptr<const Backend>& backend) {
  return loaded_from([&] { return model_in(file); }, options, backend, place_of(file));
}

CompiledModel LoadedModel::compiled(const std::filesystem::path& file, const LoadOptions& options,
                                    const std::shared_ptr<const Backend>& backend) {
  CompiledModel compiled;
  compiled.policies =
      loaded_from([&] { return model_in(file); }, options, backend, place_of(file), &compiled.model)
          .policies();
  return compiled;
}

Graph LoadedModel::simplified(const std::filesystem::path& file, const LoadOptions& options) {
  try {
    Graph graph = model_in(file).graph;
    restrict_numerics(graph, options.impl);
    fix_shapes(graph, options.input_shapes);
    simplify(graph);
    return graph;
  } catch (const Error& error) {
    throw error.within(place_of(file));
  }
}

LoadedModel LoadedModel::from_bytes(std::span<const std::byte> bytes, const LoadOptions& options,
                                    const std::shared_ptr<const Backend>& backend) {
  const auto load = [&] {
    return is_om(bytes) ? parse_om(bytes) : OmModel{.graph = parse_onnx(bytes)};
  };
  return loaded_from(load, options, backend, "model");
}

LoadedModel LoadedModel::loaded_from(const std::function<OmModel()>& load,
                                     const LoadOptions& options,
                                     const std::shared_ptr<const Backend>& backend,
                                     const std::string& place, OmModel* stored) {
  try {
    options.impl.check();
    require_operators(options.impl.op_types, "optypelist_for_implmode");
    OmModel model = load();
    restrict_numerics(model.graph, options.impl);
    Engine engine = engine_of(options, backend);
    engine.policies = stored_policies(model, engine, options, place);
    fix_shapes(model.graph, options.input_shapes);
    return LoadedModel(std::move(model.graph), engine, stored);
  } catch (const Error& error) {
    throw error.within(place);
  }
}

LoadedModel::LoadedModel(Graph graph, const Engine& engine, OmModel* stored)
    : policies_(engine.policies) {
  for (const int id : graph.inputs) inputs_.push_back(input_port(graph.value(id)));
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    outputs_.push_back(output_port(graph.value(graph.outputs[i]), graph.output_names[i]));
  }
  // Simplified once for all shapes, as far as open dimensions allow, so that they share weights.
  simplify(graph);
  if (stored != nullptr) stored->graph = graph;
  const bool fixed = std::all_of(inputs_.begin(), inputs_.end(),
                                 [](const Port& port) { return port.type.is_static(); });
  if (!fixed) {
    // The open dimensions are known at the first run: it prepares the executable.
    runner_ =
        std::make_shared<GraphRunner>(std::make_shared<const Graph>(std::move(graph)), engine);
    return;
  }
  only_ = std::make_shared<const Executable>(std::move(graph), engine);
  if (stored != nullptr) store_policies(*only_, engine, *stored);
  const Graph& prepared = only_->graph();
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const GraphValue& value = prepared.value(prepared.outputs[i]);
    check_declared(outputs_[i], value.type);
    if (!value.type.is_static()) continue;
    outputs_[i].type = value.type;
    outputs_[i].dims.emplace();
    for (const int64_t extent : *value.type.shape) outputs_[i].dims->push_back({extent, ""});
  }
}

std::vector<Value> LoadedModel::run(const std::map<std::string, Value>& feeds,
                                    StepObserver* observer) const {
  for (const auto& [name, value] : feeds) {
    const bool known = std::any_of(inputs_.begin(), inputs_.end(),
                                   [&](const Port& port) { return port.name == name; });
    require(known, "'{}' is given, but the inputs are: {}", name, names_of(inputs_));
  }
  std::vector<Value> values;
  Symbols symbols;
  for (const Port& port : inputs_) {
    const auto found = feeds.find(port.name);
    const bool given = found != feeds.end();
    require(given || port.type.kind == ValueType::Kind::optional,
            "input '{}' ({}) is not given; the inputs are: {}", port.name, port.describe(),
            names_of(inputs_));
    values.push_back(given ? found->second : Value());
    check_feed(port, values.back(), symbols);
  }
  std::vector<Value> results =
      only_ ? only_->run(values, observer) : runner_->run(values, observer);
  for (size_t i = 0; i < results.size(); ++i) check_declared(outputs_[i], results[i].type());
  return results;
}

std::shared_ptr<const Executable> LoadedModel::executable_for(
    std::span<const TensorView> inputs) const {
  check_count("input", inputs_, inputs.size());
  Symbols symbols;
  for (size_t i = 0; i < inputs.size(); ++i) check_view(inputs_[i], inputs[i], symbols);
  if (only_) return only_;
  std::vector<ValueType> types;
  for (const TensorView& input : inputs) {
    types.emplace_back(input.type());
    element_count(*types.back().shape);
  }
  return runner_->prepare(types);
}

void LoadedModel::run_into(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                           StepObserver* observer) const {
  check_count("output", outputs_, outputs.size());
  executable_for(inputs)->run_into(inputs, outputs, observer);
}

std::vector<ValueType> LoadedModel::output_types(std::span<const TensorView> inputs) const {
  const auto executable = executable_for(inputs);
  const Graph& graph = executable->graph();
  std::vector<ValueType> types;
  for (const int id : graph.outputs) types.push_back(graph.value(id).type);
  return types;
}

}  // namespace aoe
