#include <algorithm>
#include <cmath>
#include <numeric>

#include "op/context.h"
#include "op/families.h"
#include "op/host_kernel.h"

namespace aoe {
namespace {

// Three-way comparison: -1, 0 or 1. NaN equals NaN and is greater than everything else, as in
// numpy.
template <typename T>
int compare(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, std::string>) {
    const int order = a.compare(b);
    return order < 0 ? -1 : order > 0;
  } else if constexpr (requires { a.bits; }) {  // a small float
    return compare<float>(a, b);
  } else if constexpr (requires { a.value; }) {  // a small integer
    return compare<int64_t>(a, b);
  } else {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(a) || std::isnan(b)) return std::isnan(a) - std::isnan(b);
    }
    return a < b ? -1 : b < a;
  }
}

// Positions of the `k` largest (or smallest) elements along each line of `x`, in order; ties by
// position.
template <typename T>
void top_positions(const T* x, const AxisView& along, int64_t k, bool largest, int64_t* result) {
  std::vector<int64_t> order(static_cast<size_t>(along.extent));
  for (int64_t o = 0; o < along.outer; ++o) {
    for (int64_t i = 0; i < along.inner; ++i) {
      const T* line = x + o * along.extent * along.inner + i;
      std::iota(order.begin(), order.end(), 0);
      std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](int64_t a, int64_t b) {
        const int sign = compare(line[a * along.inner], line[b * along.inner]);
        return sign != 0 ? (sign > 0) == largest : a < b;
      });
      for (int64_t j = 0; j < k; ++j) {
        result[(o * k + j) * along.inner + i] = order[static_cast<size_t>(j)];
      }
    }
  }
}

void top_k(OpContext& op) {
  const Shape& shape = op.shape(0);
  const int64_t axis = normalize_axis(op.integer("axis", -1), op.rank(0));
  const int64_t k = op.opset() < 10 ? op.integer("k") : op.integer_in(1);
  const bool largest = op.flag("largest", true);
  const AxisView along = view_along(shape, axis);
  require(k >= 0 && k <= along.extent, "the top {} of an axis of {}", k, along.extent);
  Shape kept = shape;
  kept[static_cast<size_t>(axis)] = k;
  const TensorType values_type{op.dtype(0), kept};
  const TensorType positions_type{DType::i64, kept};
  op.host({values_type, positions_type}, [=](const HostCall& call) -> std::vector<Value> {
    const Tensor& x = call.inputs[0].tensor();
    Tensor values(values_type);
    Tensor positions(positions_type);
    if (positions.count() == 0) return {values, positions};
    dispatch(x.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      int64_t* chosen = positions.data<int64_t>();
      top_positions(x.data<T>(), along, k, largest, chosen);
      for (int64_t i = 0; i < positions.count(); ++i) {
        const int64_t outer = i / (k * along.inner);
        values.data<T>()[i] =
            x.data<T>()[(outer * along.extent + chosen[i]) * along.inner + i % along.inner];
      }
    });
    return {values, positions};
  });
}

void non_zero(OpContext& op) {
  op.need(1);
  ValueType result;
  result.dtype = DType::i64;
  op.host({result}, [](const HostCall& call) -> std::vector<Value> {
    const Tensor& x = call.inputs[0].tensor();
    std::vector<int64_t> found;
    dispatch_any(x.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t i = 0; i < x.count(); ++i) {
        if (compare(x.data<T>()[i], T{}) != 0) found.push_back(i);
      }
    });
    const auto count = static_cast<int64_t>(found.size());
    const Shape strides = row_major_strides(x.shape());
    Tensor result_tensor(DType::i64, {x.rank(), count});
    int64_t* next = result_tensor.data<int64_t>();
    for (size_t axis = 0; axis < strides.size(); ++axis) {
      for (const int64_t at : found) *next++ = at / strides[axis] % x.shape()[axis];
    }
    return {result_tensor};
  });
}

// Lexicographic comparison of the slices at positions `a` and `b`.
template <typename T>
int compare_slices(const T* x, const AxisView& along, int64_t a, int64_t b) {
  for (int64_t o = 0; o < along.outer; ++o) {
    const T* row = x + o * along.extent * along.inner;
    for (int64_t i = 0; i < along.inner; ++i) {
      const int order = compare(row[a * along.inner + i], row[b * along.inner + i]);
      if (order != 0) return order;
    }
  }
  return 0;
}

struct Group {
  int64_t first = 0;  // first position of the slice
  std::vector<int64_t> members;
};

// Groups of equal slices along an axis, in ascending order of the slices.
std::vector<Group> groups_of(const Tensor& x, const AxisView& along) {
  std::vector<int64_t> order(static_cast<size_t>(along.extent));
  std::iota(order.begin(), order.end(), 0);
  std::vector<Group> groups;
  dispatch_any(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* data = x.data<T>();
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      const int sign = compare_slices(data, along, a, b);
      return sign != 0 ? sign < 0 : a < b;
    });
    for (const int64_t at : order) {
      if (groups.empty() || compare_slices(data, along, groups.back().first, at) != 0) {
        groups.push_back({at, {}});
      }
      groups.back().members.push_back(at);
    }
  });
  return groups;
}

void unique(OpContext& op) {
  const bool flat = !op.has_attr("axis");
  const int64_t axis = op.integer("axis", 0);
  const bool sorted = op.flag("sorted", true);
  ValueType values;
  values.dtype = op.type(0).dtype;
  ValueType numbers;
  numbers.dtype = DType::i64;
  op.host({values, numbers, numbers, numbers}, [=](const HostCall& call) -> std::vector<Value> {
    const Tensor& given = call.inputs[0].tensor();
    const Tensor x = flat ? given.reshaped({given.count()}) : given;
    const AxisView along = view_along(x.shape(), axis);
    require(x.count() > 0 || along.extent == 0, "slices of {} have no elements to compare",
            to_string(x.type()));
    std::vector<Group> groups = groups_of(x, along);
    if (!sorted) {
      std::sort(groups.begin(), groups.end(),
                [](const Group& a, const Group& b) { return a.first < b.first; });
    }
    std::vector<int64_t> firsts;
    std::vector<int64_t> inverse(static_cast<size_t>(along.extent));
    std::vector<int64_t> counts;
    for (size_t i = 0; i < groups.size(); ++i) {
      firsts.push_back(groups[i].first);
      counts.push_back(std::ssize(groups[i].members));
      for (const int64_t at : groups[i].members) {
        inverse[static_cast<size_t>(at)] = static_cast<int64_t>(i);
      }
    }
    return {take(x, axis, firsts), Tensor::of_ints(firsts), Tensor::of_ints(inverse),
            Tensor::of_ints(counts)};
  });
}

struct Box {
  float left, top, right, bottom;

  float area() const { return (right - left) * (bottom - top); }
};

Box box_of(const float* corners, bool center_point) {
  if (center_point) {
    const float half_width = corners[2] / 2;
    const float half_height = corners[3] / 2;
    return {corners[0] - half_width, corners[1] - half_height, corners[0] + half_width,
            corners[1] + half_height};
  }
  // Any two opposite corners, each given as (y, x).
  return {std::min(corners[1], corners[3]), std::min(corners[0], corners[2]),
          std::max(corners[1], corners[3]), std::max(corners[0], corners[2])};
}

bool overlap(const Box& a, const Box& b, float threshold) {
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (!(width > 0 && height > 0)) return false;
  const float shared = width * height;
  const float all = a.area() + b.area() - shared;
  return a.area() > 0 && b.area() > 0 && all > 0 && shared / all > threshold;
}

struct Suppression {
  int64_t limit = 0;  // maximum number of boxes per class
  float overlap = 0;
  std::optional<float> score;
};

// Returns the positions of the boxes that are kept, highest score first.
std::vector<int64_t> surviving(const std::vector<Box>& boxes, const float* scores,
                               const Suppression& rules) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < std::ssize(boxes); ++i) {
    if (!rules.score || scores[i] > *rules.score) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    if (std::isnan(scores[a]) || std::isnan(scores[b])) {
      return std::isnan(scores[b]) > std::isnan(scores[a]);
    }
    return scores[a] > scores[b];
  });
  std::vector<int64_t> kept;
  for (const int64_t candidate : order) {
    if (std::ssize(kept) >= rules.limit) break;
    const Box& box = boxes[static_cast<size_t>(candidate)];
    const bool covered = std::any_of(kept.begin(), kept.end(), [&](int64_t other) {
      return overlap(box, boxes[static_cast<size_t>(other)], rules.overlap);
    });
    if (!covered) kept.push_back(candidate);
  }
  return kept;
}

void non_max_suppression(OpContext& op) {
  const Shape boxes_shape = op.shape(0);
  const Shape scores_shape = op.shape(1);
  require(boxes_shape.size() == 3 && boxes_shape[2] == 4 && scores_shape.size() == 3 &&
              scores_shape[0] == boxes_shape[0] && scores_shape[2] == boxes_shape[1],
          "boxes {} and scores {} where [batches, boxes, 4] and [batches, classes, boxes] are "
          "expected",
          to_string(boxes_shape), to_string(scores_shape));
  require(op.dtype(0) == DType::f32 && op.dtype(1) == DType::f32,
          "boxes are {} and scores {}, not float32", name(op.dtype(0)), name(op.dtype(1)));
  const bool center_point = op.flag("center_point_box", false);
  ValueType result;
  result.dtype = DType::i64;
  op.host({result}, [=](const HostCall& call) -> std::vector<Value> {
    const float* corners = call.inputs[0].tensor().data<float>();
    const float* scores = call.inputs[1].tensor().data<float>();
    Suppression rules;
    if (given(call, 2)) rules.limit = only_int(call.inputs[2]);
    if (given(call, 3)) rules.overlap = static_cast<float>(only_number(call.inputs[3]));
    if (given(call, 4)) rules.score = static_cast<float>(only_number(call.inputs[4]));
    std::vector<int64_t> chosen;
    const int64_t batches = element_count(scores_shape) > 0 ? boxes_shape[0] : 0;
    for (int64_t batch = 0; batch < batches; ++batch) {
      std::vector<Box> boxes;
      for (int64_t i = 0; i < boxes_shape[1]; ++i, corners += 4) {
        boxes.push_back(box_of(corners, center_point));
      }
      for (int64_t of = 0; of < scores_shape[1]; ++of, scores += boxes_shape[1]) {
        for (const int64_t box : surviving(boxes, scores, rules)) {
          chosen.insert(chosen.end(), {batch, of, box});
        }
      }
    }
    return {Tensor::of(chosen, {std::ssize(chosen) / 3, 3})};
  });
}

}  // namespace

const OpTable& selection_operators() {
  static const OpTable table{
      {"NonMaxSuppression", 10, non_max_suppression},
      {"NonZero", 9, non_zero},
      {"TopK", 1, top_k},
      {"Unique", 11, unique},
  };
  return table;
}

}  // namespace aoe
