#include "program/packed_weights.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "expr/rewrite.h"

// Prepacks the constant side of a product. In reading order: panels_of, the columns of each panel;
// pack_matrix, one plain matrix; outer_steps, which of the plain matrices an outer point uses;
// plain_workload, which evaluates them; pack, all of them.
//
//   plain: 2 deep, 6 wide         packed, `panel` = 4             packed, `uneven` = {0, 3}
//
//   k = 0   a b c d e f           a b c d   e f 0 0               a b c   d e f
//   k = 1   g h i j k l           g h i j   k l 0 0               g h i   j k l
//                                 panel 0   panel 1               panel 0 panel 1
//
//   memory  a b c d e f g h ...   a b c d g h i j e f 0 0 ...     a b c g h i d e f j k l
//
// Invariant: a panel is contiguous, step by step of the depth, as a tile reads it. With several
// sums it holds all steps of the first sum, then those of the next. Padding stays zero.

namespace aoe {
namespace {

// A panel of `columns` columns from `first` on, stored with `width` columns.
struct Panel {
  int64_t first, columns, width;
};

std::vector<Panel> panels_of(const PackedWeights& packed) {
  std::vector<Panel> panels;
  for (int64_t first = 0; first < packed.width && packed.panel > 0; first += packed.panel) {
    panels.push_back({first, std::min(packed.panel, packed.width - first), packed.panel});
  }
  for (size_t i = 0; i < packed.uneven.size(); ++i) {
    const int64_t end = i + 1 < packed.uneven.size() ? packed.uneven[i + 1] : packed.width;
    panels.push_back({packed.uneven[i], end - packed.uneven[i], end - packed.uneven[i]});
  }
  return panels;
}

// Sums the parts of a row of a panel, in double precision, so that results are rounded once.
template <typename T>
void sum_columns(const PackedWeights& packed, const double* factors, const T* from, int64_t count,
                 T* to) {
  constexpr int64_t kMostColumns = 64;
  for (int64_t at = 0; at < count; at += kMostColumns) {
    const int64_t few = std::min(kMostColumns, count - at);
    double sums[kMostColumns] = {};
    for (size_t p = 0; p < packed.parts.size(); ++p) {
      if (factors[p] == 0) continue;
      const T* part = from + packed.parts[p] + at;
      for (int64_t j = 0; j < few; ++j) sums[j] += factors[p] * static_cast<double>(part[j]);
    }
    for (int64_t j = 0; j < few; ++j) to[at + j] = static_cast<T>(sums[j]);
  }
}

template <typename T>
void pack_matrix(const PackedWeights& packed, const std::vector<Panel>& panels, const T* plain,
                 T* to) {
  const size_t parts = packed.parts.size();
  const bool sums = parts > 1;
  assert(!sums || (std::is_floating_point_v<T> && packed.width_stride == 1));
  for (const Panel& panel : panels) {
    for (int64_t sum = 0; sum < packed.sums(); ++sum) {
      const double* factors = packed.factors.data() + static_cast<size_t>(sum) * parts;
      for (int64_t k = 0; k < packed.depth; ++k, to += panel.width) {
        const T* from = plain + k * packed.depth_stride + panel.first * packed.width_stride;
        if (sums) {
          sum_columns(packed, factors, from, panel.columns, to);
        } else if (packed.width_stride == 1) {
          std::copy_n(from, panel.columns, to);
        } else {
          for (int64_t j = 0; j < panel.columns; ++j) to[j] = from[j * packed.width_stride];
        }
      }
    }
  }
}

}  // namespace

int64_t PackedWeights::elements() const {
  int64_t columns = 0;
  for (const Panel& panel : panels_of(*this)) columns += panel.width;
  return sums() * depth * columns;
}

std::vector<int64_t> outer_steps(const Stage& stage, const std::vector<size_t>& outer,
                                 const Expr& side) {
  std::vector<int64_t> steps(outer.size());
  int64_t step = 1;
  for (size_t i = outer.size(); i-- > 0;) {
    if (!depends_on_axis(side, static_cast<int64_t>(outer[i]))) continue;
    steps[i] = step;
    step *= stage.axes[outer[i]];
  }
  return steps;
}

Workload plain_workload(const Workload& workload, const PackedWeights& packed) {
  const Stage& stage = workload.stages[packed.stage];
  const Shape extents = stage.extents();
  Stage copy;
  std::vector<Expr> to(extents.size(), Expr::integer(DType::i64, 0));
  const auto add = [&](size_t axis) {
    to[axis] = Expr::axis(static_cast<int64_t>(copy.axes.size()));
    copy.axes.push_back(extents[axis]);
  };
  for (const size_t axis : packed.outer) {
    if (depends_on_axis(packed.side, static_cast<int64_t>(axis))) add(axis);
  }
  for (const size_t axis : packed.rows) add(axis);
  for (const size_t axis : packed.columns) add(axis);
  copy.results = {with_axes(packed.side, to)};
  Workload only = workload;
  std::erase_if(only.inputs,
                [&](int input) { return !workload.values[static_cast<size_t>(input)].weight; });
  only.values.push_back(
      {.type = {stage.elements[0].dtype(), copy.axes}, .view_of = -1, .constant = {}});
  copy.outputs = {static_cast<int>(only.values.size()) - 1};
  only.outputs = copy.outputs;
  only.stages = {std::move(copy)};
  return only;
}

Tensor pack(const PackedWeights& packed, const Tensor& plain) {
  int64_t plain_size = packed.depth * packed.width * static_cast<int64_t>(packed.parts.size());
  const int64_t matrices = plain.count() / plain_size;
  const std::vector<Panel> panels = panels_of(packed);
  const int64_t elements = packed.elements();
  Tensor result = Tensor::zeros({plain.dtype(), {matrices * elements}});
  dispatch(plain.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_arithmetic_v<T>) {
      for (int64_t m = 0; m < matrices; ++m) {
        pack_matrix(packed, panels, plain.data<T>() + m * plain_size,
                    result.data<T>() + m * elements);
      }
    }
  });
  return result;
}

}  // namespace aoe
