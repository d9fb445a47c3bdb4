#include "frontend/onnx_tensor.h"

#include <charconv>
#include <cstring>

#include "base/file.h"
#include "frontend/onnx.pb.h"
#include "op/onnx_types.h"

namespace aoe {
namespace {

constexpr int kExternal = 1;  // TensorProto.DataLocation

int64_t bytes_in_file(const TensorType& type) {
  return ceil_div(checked_mul(type.count(), bits_of(type.dtype)), 8);
}

Tensor unpacked(const TensorType& type, const uint8_t* packed) {
  const int bits = bits_of(type.dtype);
  Tensor result(type);
  auto* to = reinterpret_cast<uint8_t*>(result.raw());
  for (int64_t i = 0; i < result.count(); ++i) {
    const int64_t bit = i * bits;
    uint8_t element = (packed[bit / 8] >> (bit % 8)) & ((1 << bits) - 1);
    // Signed elements are kept sign-extended.
    const bool negative = is_signed_int(type.dtype) && (element >> (bits - 1)) != 0;
    if (negative) element = static_cast<uint8_t>(element | ~((1 << bits) - 1));
    to[i] = element;
  }
  return result;
}

Tensor from_bytes(const TensorType& type, const std::shared_ptr<const std::string>& bytes) {
  const int64_t needed = bytes_in_file(type);
  require(static_cast<int64_t>(bytes->size()) == needed, "{} needs {} bytes of data, {} are there",
          to_string(type), needed, bytes->size());
  const void* data = bytes->data();
  if (bits_of(type.dtype) < 8) return unpacked(type, static_cast<const uint8_t*>(data));
  const bool aligned = reinterpret_cast<uintptr_t>(data) % alignof(std::max_align_t) == 0;
  if (aligned) return Tensor::over(type, data, bytes);
  Tensor result(type);
  std::memcpy(result.raw(), data, static_cast<size_t>(needed));
  return result;
}

// Reads elements from a typed repeated field, which may be wider than the element type.
template <typename Field>
Tensor from_field(const TensorType& type, const Field& field) {
  // An entry has several elements of a type of fewer than eight bits, else one.
  const int bits = bits_of(type.dtype);
  const bool packed = bits < 8;
  const int64_t needed = packed ? ceil_div(checked_mul(type.count(), bits), 8) : type.count();
  require(field.size() == needed, "{} needs {} data entries, {} are there", to_string(type), needed,
          field.size());
  if (packed) {
    std::string bytes;
    for (const auto entry : field) bytes.push_back(static_cast<char>(entry));
    return unpacked(type, reinterpret_cast<const uint8_t*>(bytes.data()));
  }
  Tensor result(type);
  dispatch(type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int i = 0; i < field.size(); ++i) {
      if constexpr (std::is_arithmetic_v<T>) {
        result.data<T>()[i] = static_cast<T>(field[i]);
      } else {
        // Small floats are stored as their bit patterns.
        const auto pattern = static_cast<uint16_t>(field[i]);
        std::memcpy(static_cast<void*>(&result.data<T>()[i]), &pattern, sizeof(T));
      }
    }
  });
  return result;
}

Tensor from_fields(const onnx::TensorProto& proto, const TensorType& type) {
  switch (type.dtype) {
    case DType::f32: return from_field(type, proto.float_data());
    case DType::f64: return from_field(type, proto.double_data());
    case DType::i64: return from_field(type, proto.int64_data());
    case DType::u32:
    case DType::u64: return from_field(type, proto.uint64_data());
    default: return from_field(type, proto.int32_data());
  }
}

int64_t number_in(std::string_view key, const std::string& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  require(error == std::errc{} && end == text.data() + text.size() && number >= 0,
          "external data: {} '{}' is not a size", key, text);
  return number;
}

}  // namespace

Tensor OnnxTensorReader::read_external(const onnx::TensorProto& proto,
                                       const TensorType& type) const {
  std::string location;
  int64_t offset = 0;
  int64_t length = bytes_in_file(type);
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = number_in("offset", entry.value());
    if (entry.key() == "length") length = number_in("length", entry.value());
  }
  require(!location.empty(), "external data without a location");
  require(!folder_.empty(),
          "external data '{}': a model given as bytes has no folder to find it in; load it by path",
          location);
  require(length == bytes_in_file(type), "external data '{}': {} needs {} bytes, the length is {}",
          location, to_string(type), bytes_in_file(type), length);
  require(length <= tensor_limit(), "external data '{}': {} is larger than one tensor may be",
          location, to_string(type));
  auto bytes = std::make_shared<std::string>();
  try {
    // All checks are of the descriptor that is read, never of a path that may change meanwhile.
    const File file = opened_beneath(folder_, location);
    const int64_t size = size_of(file);
    require(offset <= size && length <= size - offset,
            "it has {} bytes, {} from {} on are asked for", size, length, offset);
    bytes->resize(static_cast<size_t>(length));
    require(read_at(file, offset, *bytes), "it cannot be read");
  } catch (const Error& error) {
    throw error.within(fmt::format("external data '{}'", location));
  }
  return from_bytes(type, std::move(bytes));
}

Tensor OnnxTensorReader::read(onnx::TensorProto& proto) const {
  const TensorType type{dtype_from_onnx(proto.data_type()),
                        Shape(proto.dims().begin(), proto.dims().end())};
  type.count();
  if (type.dtype == DType::string) {
    require(proto.string_data_size() == type.count(), "{} needs {} strings, {} are there",
            to_string(type), type.count(), proto.string_data_size());
    return Tensor::strings(type.shape, {proto.string_data().begin(), proto.string_data().end()});
  }
  const int fields = (proto.raw_data().empty() ? 0 : 1) + (proto.float_data_size() > 0 ? 1 : 0) +
                     (proto.int32_data_size() > 0 ? 1 : 0) + (proto.int64_data_size() > 0 ? 1 : 0) +
                     (proto.double_data_size() > 0 ? 1 : 0) +
                     (proto.uint64_data_size() > 0 ? 1 : 0);
  require(fields <= 1, "its data is in {} fields at once", fields);
  if (proto.data_location() == kExternal) return read_external(proto, type);
  if (!proto.raw_data().empty()) {
    return from_bytes(type,
                      std::make_shared<const std::string>(std::move(*proto.mutable_raw_data())));
  }
  return from_fields(proto, type);
}

// Indices are either flat positions or one row of coordinates per value.
Tensor OnnxTensorReader::read(onnx::SparseTensorProto& proto) const {
  const Tensor values = read(*proto.mutable_values());
  const Tensor indices = read(*proto.mutable_indices());
  const TensorType type{values.dtype(), Shape(proto.dims().begin(), proto.dims().end())};
  require(type.dtype != DType::string, "a sparse tensor of strings is not supported");
  const int64_t size = type.count();
  const std::vector<int64_t> at = indices.to_ints();
  const auto rank = static_cast<int64_t>(type.shape.size());
  const bool flat = indices.rank() == 1;
  require(values.rank() == 1 && (flat || indices.rank() == 2) &&
              static_cast<int64_t>(at.size()) == values.count() * (flat ? 1 : rank),
          "a sparse tensor of {} values has indices of shape {}", values.count(),
          to_string(indices.shape()));
  Tensor result = Tensor::zeros(type);
  const Shape strides = row_major_strides(type.shape);
  const auto width = static_cast<size_t>(info(type.dtype).bytes);
  for (int64_t i = 0; i < values.count(); ++i) {
    int64_t position = 0;
    for (int64_t axis = 0; axis < (flat ? 1 : rank); ++axis) {
      const int64_t index = at[static_cast<size_t>(flat ? i : i * rank + axis)];
      const int64_t extent = flat ? size : type.shape[static_cast<size_t>(axis)];
      require(index >= 0 && index < extent, "a sparse tensor has an index {} outside {}", index,
              to_string(type));
      position += index * (flat ? 1 : strides[static_cast<size_t>(axis)]);
    }
    std::memcpy(result.raw() + static_cast<size_t>(position) * width,
                values.raw() + static_cast<size_t>(i) * width, width);
  }
  return result;
}

}  // namespace aoe
