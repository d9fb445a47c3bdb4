#include <algorithm>
#include <cmath>

#include "op/context.h"
#include "op/families.h"
#include "op/host_kernel.h"

namespace aoe {
namespace {

enum class Reduction { none, add, mul, max, min };

Reduction reduction_of(const OpContext& op) {
  const std::string name = op.text("reduction", "none");
  if (name == "none") return Reduction::none;
  if (name == "add") return Reduction::add;
  if (name == "mul") return Reduction::mul;
  if (name == "max") return Reduction::max;
  if (name == "min") return Reduction::min;
  fail("reduction '{}' is not one of none, add, mul, max and min", name);
}

template <typename N>
N combined(Reduction reduction, N a, N b) {
  if constexpr (std::is_floating_point_v<N>) {
    if (std::isnan(a) || std::isnan(b)) return a + b;
  }
  switch (reduction) {
    case Reduction::none: return b;
    case Reduction::add: return a + b;
    case Reduction::mul: return a * b;
    case Reduction::max: return std::max(a, b);
    case Reduction::min: return std::min(a, b);
  }
  return b;
}

template <typename T>
void update(Reduction reduction, T& target, const T& with) {
  if constexpr (std::is_same_v<T, std::string>) {
    require(reduction == Reduction::none, "strings can only replace each other");
    target = with;
  } else if (reduction == Reduction::none) {
    target = with;
  } else if constexpr (std::is_same_v<T, bool>) {
    const bool any = reduction == Reduction::add || reduction == Reduction::max;
    target = any ? target || with : target && with;
  } else if constexpr (std::is_floating_point_v<T>) {
    target = combined(reduction, target, with);
  } else if constexpr (requires { target.bits; }) {  // a small float
    target = T(combined<float>(reduction, target, with));
  } else {
    const auto a = static_cast<int64_t>(target);
    const auto b = static_cast<int64_t>(with);
    // Sums and products wrap around; unsigned arithmetic gives the same bits without overflow.
    if (reduction == Reduction::add || reduction == Reduction::mul || std::is_same_v<T, uint64_t>) {
      const auto wide = combined(reduction, static_cast<uint64_t>(a), static_cast<uint64_t>(b));
      target = static_cast<T>(static_cast<int64_t>(wide));
    } else {
      target = static_cast<T>(combined(reduction, a, b));
    }
  }
}

// Returns a copy of the data in which runs of `length` elements, starting at `targets`, are updated
// with consecutive runs of `updates`.
Tensor updated(const Tensor& data, const std::vector<int64_t>& targets, int64_t length,
               const Tensor& updates, Reduction reduction) {
  require(updates.dtype() == data.dtype(), "updates are {}, the data {}", name(updates.dtype()),
          name(data.dtype()));
  Tensor result(data.type());
  copy_elements(data, 0, result, 0, data.count());
  dispatch_any(data.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = updates.data<T>();
    for (const int64_t target : targets) {
      T* to = result.data<T>() + target;
      for (int64_t i = 0; i < length; ++i) update(reduction, to[i], *from++);
    }
  });
  return result;
}

void scatter_elements(OpContext& op) {
  const Shape shape = op.shape(0);
  const Shape reach = op.shape(1);
  const int64_t axis = normalize_axis(op.integer("axis", 0), op.rank(0));
  const Reduction reduction = reduction_of(op);
  require(op.shape(2) == reach, "updates {} for indices {}", to_string(op.shape(2)),
          to_string(reach));
  require(reach.size() == shape.size(), "indices {} for {}: both must have one rank",
          to_string(reach), to_string(shape));
  for (size_t i = 0; i < shape.size(); ++i) {
    require(static_cast<int64_t>(i) == axis || reach[i] <= shape[i],
            "indices {} reach beyond axis {} of {}", to_string(reach), i, to_string(shape));
  }
  op.host({op.type(0)}, [=](const HostCall& call) -> std::vector<Value> {
    const std::vector<int64_t> indices = call.inputs[1].tensor().to_ints();
    const Shape strides = row_major_strides(shape);
    std::vector<int64_t> targets;
    Shape point(shape.size(), 0);
    for (const int64_t index : indices) {
      int64_t target = 0;
      for (size_t i = 0; i < point.size(); ++i) {
        const bool picked = static_cast<int64_t>(i) == axis;
        target += strides[i] * (picked ? normalize_index(index, shape[i]) : point[i]);
      }
      targets.push_back(target);
      for (size_t i = point.size(); i-- > 0;) {
        if (++point[i] < reach[i]) break;
        point[i] = 0;
      }
    }
    return {updated(call.inputs[0].tensor(), targets, 1, call.inputs[2].tensor(), reduction)};
  });
}

void scatter_nd(OpContext& op) {
  const Shape shape = op.shape(0);
  const Shape tuples = op.shape(1);
  const Reduction reduction = reduction_of(op);
  require(!tuples.empty() && tuples.back() >= 1 && tuples.back() <= op.rank(0),
          "tuples of indices {} into {}", to_string(tuples), to_string(shape));
  const int64_t tuple = tuples.back();
  Shape expected(tuples.begin(), tuples.end() - 1);
  expected.insert(expected.end(), shape.begin() + tuple, shape.end());
  require(op.shape(2) == expected, "updates {} where the indices ask for {}",
          to_string(op.shape(2)), to_string(expected));
  op.host({op.type(0)}, [=](const HostCall& call) -> std::vector<Value> {
    const std::vector<int64_t> indices = call.inputs[1].tensor().to_ints();
    const Shape strides = row_major_strides(shape);
    const int64_t slices = element_count({tuples.begin(), tuples.end() - 1});
    const int64_t inner = element_count({shape.begin() + tuple, shape.end()});
    std::vector<int64_t> targets(static_cast<size_t>(slices), 0);
    auto index = indices.begin();
    for (int64_t& target : targets) {
      for (size_t i = 0; i < static_cast<size_t>(tuple); ++i) {
        target += strides[i] * normalize_index(*index++, shape[i]);
      }
    }
    return {updated(call.inputs[0].tensor(), targets, inner, call.inputs[2].tensor(), reduction)};
  });
}

}  // namespace

const OpTable& scatter_operators() {
  static const OpTable table{
      {"Scatter", 9, scatter_elements},
      {"ScatterElements", 11, scatter_elements},
      {"ScatterND", 11, scatter_nd},
  };
  return table;
}

}  // namespace aoe
