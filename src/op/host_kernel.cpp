#include "op/host_kernel.h"

#include <cstring>

namespace aoe {
namespace {

const Tensor& only(const Value& value) {
  const Tensor& tensor = value.tensor();
  require(tensor.count() == 1, "{} where one element is expected", to_string(tensor.type()));
  return tensor;
}

}  // namespace

AxisView view_along(const Shape& shape, int64_t axis) {
  const auto at = shape.begin() + normalize_axis(axis, static_cast<int64_t>(shape.size()));
  return {element_count({shape.begin(), at}), *at, element_count({at + 1, shape.end()})};
}

void copy_elements(const Tensor& from, int64_t from_at, Tensor& to, int64_t to_at, int64_t count) {
  if (from.dtype() == DType::string) {
    const std::string* source = from.data<std::string>() + from_at;
    std::copy(source, source + count, to.data<std::string>() + to_at);
    return;
  }
  const int64_t bytes = info(from.dtype()).bytes;
  std::memcpy(to.raw() + to_at * bytes, from.raw() + from_at * bytes,
              static_cast<size_t>(count * bytes));
}

Tensor take(const Tensor& x, int64_t axis, std::span<const int64_t> positions) {
  const AxisView from = view_along(x.shape(), axis);
  const auto count = static_cast<int64_t>(positions.size());
  Shape shape = x.shape();
  shape[static_cast<size_t>(normalize_axis(axis, x.rank()))] = count;
  Tensor result(x.dtype(), std::move(shape));
  if (result.count() == 0) return result;
  for (int64_t o = 0; o < from.outer; ++o) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t position = positions[static_cast<size_t>(i)];
      copy_elements(x, (o * from.extent + position) * from.inner, result,
                    (o * count + i) * from.inner, from.inner);
    }
  }
  return result;
}

Tensor part(const Tensor& x, int64_t axis, int64_t start, int64_t extent) {
  const AxisView from = view_along(x.shape(), axis);
  Shape shape = x.shape();
  shape[static_cast<size_t>(normalize_axis(axis, x.rank()))] = extent;
  Tensor result(x.dtype(), std::move(shape));
  if (result.count() == 0) return result;
  for (int64_t o = 0; o < from.outer; ++o) {
    copy_elements(x, (o * from.extent + start) * from.inner, result, o * extent * from.inner,
                  extent * from.inner);
  }
  return result;
}

Tensor element(const Tensor& x, int64_t axis, int64_t position) {
  const Tensor slice = part(x, axis, position, 1);
  Shape shape = x.shape();
  shape.erase(shape.begin() + normalize_axis(axis, x.rank()));
  return slice.reshaped(std::move(shape));
}

Tensor join(std::span<const Tensor> parts, int64_t axis) {
  require(!parts.empty(), "there is nothing to join");
  const Tensor& first = parts[0];
  const auto at = static_cast<size_t>(normalize_axis(axis, first.rank()));
  Shape shape = first.shape();
  shape[at] = 0;
  for (const Tensor& part : parts) {
    Shape rest = part.shape();
    if (rest.size() == shape.size()) rest[at] = shape[at];
    require(rest == shape && part.dtype() == first.dtype(),
            "{} and {} cannot be joined along axis {}", to_string(first.type()),
            to_string(part.type()), axis);
    shape[at] = checked_add(shape[at], part.shape()[at]);
  }
  const int64_t total = shape[at];
  Tensor result(first.dtype(), std::move(shape));
  if (result.count() == 0) return result;
  int64_t start = 0;
  for (const Tensor& part : parts) {
    const AxisView from = view_along(part.shape(), axis);
    for (int64_t o = 0; o < from.outer; ++o) {
      copy_elements(part, o * from.extent * from.inner, result, (o * total + start) * from.inner,
                    from.extent * from.inner);
    }
    start += from.extent;
  }
  return result;
}

Tensor stack(std::span<const Tensor> parts, int64_t axis) {
  require(!parts.empty(), "there is nothing to stack");
  const int64_t at = normalize_axis(axis, parts[0].rank() + 1);
  std::vector<Tensor> slices;
  for (const Tensor& part : parts) {
    require(part.type() == parts[0].type(), "{} and {} cannot be stacked",
            to_string(parts[0].type()), to_string(part.type()));
    Shape shape = part.shape();
    shape.insert(shape.begin() + at, 1);
    slices.push_back(part.reshaped(std::move(shape)));
  }
  return join(slices, at);
}

int64_t normalize_index(int64_t index, int64_t extent) {
  require(index >= -extent && index < extent, "index {} is outside an axis of {}", index, extent);
  return index < 0 ? index + extent : index;
}

int64_t only_int(const Value& value) { return only(value).to_ints()[0]; }

double only_number(const Value& value) { return only(value).to_doubles()[0]; }

bool only_bool(const Value& value) {
  const Tensor& tensor = only(value);
  require(tensor.dtype() == DType::boolean, "{} where a bool is expected",
          to_string(tensor.type()));
  return *tensor.data<bool>();
}

}  // namespace aoe
