#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "codegen/cpu_backend.h"
#include "python/bank.h"
#include "runtime/loaded_model.h"

// The extension module aoe._aoe. Values are passed as (dtype, shape, bytes), so that element types
// that NumPy does not know need no special case here. The Python package converts them to arrays.

namespace nb = nanobind;

namespace aoe {
namespace {

using ReadOnlyBytes = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

Value value_from(nb::handle object);

Tensor tensor_from(const nb::tuple& parts) {
  const auto dtype_name = nb::cast<std::string>(parts[0]);
  const auto dtype = dtype_named(dtype_name);
  require(dtype.has_value(), "'{}' is not an element type", dtype_name);
  TensorType type{*dtype, nb::cast<Shape>(parts[1])};
  if (type.dtype == DType::string) {
    std::vector<std::string> texts;
    for (const nb::handle text : nb::list(parts[2])) {
      const nb::bytes bytes(text);
      texts.emplace_back(bytes.c_str(), bytes.size());
    }
    require(static_cast<int64_t>(texts.size()) == type.count(), "{} strings for {}", texts.size(),
            to_string(type));
    return Tensor::strings(type.shape, std::move(texts));
  }
  const auto bytes = nb::cast<ReadOnlyBytes>(parts[2]);
  require(static_cast<int64_t>(bytes.size()) == bytes_of(type), "{} bytes for {}", bytes.size(),
          to_string(type));
  // The caller keeps the array alive during the run.
  return Tensor::over(std::move(type), bytes.data(), nullptr);
}

Value value_from(nb::handle object) {
  if (object.is_none()) return {};
  if (!nb::isinstance<nb::list>(object)) return tensor_from(nb::cast<nb::tuple>(object));
  std::vector<Value> elements;
  for (const nb::handle element : nb::cast<nb::list>(object)) {
    elements.push_back(value_from(element));
  }
  return Value::sequence(std::move(elements));
}

nb::object object_from(Value value) {
  if (value.is_none()) return nb::none();
  if (value.is_sequence()) {
    nb::list elements;
    for (const Value& element : value.elements()) elements.append(object_from(element));
    return elements;
  }
  Tensor tensor = value.tensor();
  value = {};
  nb::object contents;
  if (tensor.dtype() == DType::string) {
    nb::list texts;
    for (int64_t i = 0; i < tensor.count(); ++i) {
      const std::string& text = tensor.data<std::string>()[i];
      texts.append(nb::bytes(text.data(), text.size()));
    }
    contents = texts;
  } else {
    // Python may write to the array, so elements that others hold too are copied.
    auto* held = new Tensor(tensor.is_sole_owner() ? std::move(tensor) : tensor.copied());
    const nb::capsule owner(held, [](void* p) noexcept { delete static_cast<Tensor*>(p); });
    const auto size = static_cast<size_t>(held->bytes());
    contents = nb::cast(nb::ndarray<nb::numpy, uint8_t, nb::ndim<1>>(held->raw(), {size}, owner));
    return nb::make_tuple(std::string(name(held->dtype())), held->shape(), contents);
  }
  return nb::make_tuple(std::string(name(tensor.dtype())), tensor.shape(), contents);
}

nb::list ports(const std::vector<Port>& ports) {
  nb::list result;
  for (const Port& port : ports) {
    nb::object dims = nb::none();
    if (port.dims && port.type.kind == ValueType::Kind::tensor) {
      nb::list sizes;
      for (const Dim& dim : *port.dims) {
        if (dim.is_static()) sizes.append(dim.size);
        else sizes.append(to_string(dim));
      }
      dims = sizes;
    }
    std::string dtype(port.type.dtype ? name(*port.type.dtype) : "?");
    if (port.type.kind != ValueType::Kind::tensor) dtype = to_string(port.type);
    result.append(nb::make_tuple(port.name, dtype, dims));
  }
  return result;
}

// Converts all exceptions to Error, the only type that Python sees.
template <typename Fn>
auto as_error(const Fn& fn) {
  try {
    return fn();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw Error("out of memory");
  } catch (const std::exception& error) {
    throw Error(error.what());
  }
}

LoadedModel load(const nb::object& source, const std::map<std::string, Shape>& input_shapes,
                 int threads, const std::string& kernels, const std::string& op_select_implmode,
                 const std::vector<std::string>& optypelist_for_implmode, bool allow_strassen) {
  const LoadOptions options{.input_shapes = input_shapes,
                            .threads = threads,
                            .kernels = kernels,
                            .impl = {op_select_implmode, optypelist_for_implmode, allow_strassen}};
  if (nb::isinstance<nb::bytes>(source)) {
    const auto bytes = nb::cast<nb::bytes>(source);
    const std::span contents(reinterpret_cast<const std::byte*>(bytes.c_str()), bytes.size());
    const nb::gil_scoped_release unlocked;
    return as_error([&] { return LoadedModel::from_bytes(contents, options, host_backend()); });
  }
  const auto path = nb::cast<std::string>(source);
  const nb::gil_scoped_release unlocked;
  return as_error([&] { return LoadedModel::from_file(path, options, host_backend()); });
}

nb::list run(const LoadedModel& model, const nb::list& feeds) {
  std::map<std::string, Value> values;
  for (const nb::handle feed : feeds) {
    const auto pair = nb::cast<nb::tuple>(feed);
    values[nb::cast<std::string>(pair[0])] = value_from(pair[1]);
  }
  std::vector<Value> results;
  {
    const nb::gil_scoped_release unlocked;
    results = as_error([&] { return model.run(values); });
  }
  nb::list outputs;
  for (Value& result : results) outputs.append(object_from(std::move(result)));
  return outputs;
}

}  // namespace
}  // namespace aoe

NB_MODULE(_aoe, m) {
  using namespace aoe;
  const nb::exception<Error> error_type(m, "Error");
  m.def("version", [] { return AOE_VERSION; });
  add_bank_functions(m);
  nb::class_<LoadedModel>(m, "Model")
      .def_static("load", load, nb::arg("source"), nb::arg("input_shapes"), nb::arg("threads"),
                  nb::arg("kernels"), nb::arg("op_select_implmode"),
                  nb::arg("optypelist_for_implmode"), nb::arg("allow_strassen"))
      .def("inputs", [](const LoadedModel& model) { return ports(model.inputs()); })
      .def("outputs", [](const LoadedModel& model) { return ports(model.outputs()); })
      .def("bank_hits",
           [](const LoadedModel& model) {
             return model.policies() ? model.policies()->counts().from_bank : 0;
           })
      .def("run", run, nb::arg("feeds"));
}
