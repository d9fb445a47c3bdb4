#include <algorithm>
#include <array>
#include <type_traits>

#include "expr/tape.h"

// The instructions that read tensors: strided loads, checked loads, and the fused multiply-add,
// which is most of the work of most models.

namespace aoe {
namespace {

// The type of a register for elements of a type: integers widen to int64, small floats to float.
template <typename Stored>
struct Held {
  using type = std::conditional_t<std::is_integral_v<Stored>, int64_t, float>;
};
template <>
struct Held<double> {
  using type = double;
};
template <>
struct Held<uint64_t> {
  using type = uint64_t;
};
template <int Bits, bool Signed>
struct Held<SmallInt<Bits, Signed>> {
  using type = int64_t;
};

template <typename Stored>
using RegOf = typename Held<Stored>::type;

template <typename Stored, typename Reg>
void strided_loop(const Instr& instr, Frame& frame) {
  const Frame::LoadState& load = frame.loads[static_cast<size_t>(instr.load)];
  const Stored* base = reinterpret_cast<const Stored*>(load.base) + load.reduce_offset;
  Reg* dst = frame.reg<Reg>(instr.dst);
  if (!frame.linear) {
    const int64_t* offsets = load.offsets.data();
    for (int64_t i = 0; i < frame.count; ++i) dst[i] = static_cast<Reg>(base[offsets[i]]);
    return;
  }
  base += load.origin;
  if (load.stride == 1) {
    for (int64_t i = 0; i < frame.count; ++i) dst[i] = static_cast<Reg>(base[i]);
  } else {
    for (int64_t i = 0; i < frame.count; ++i) dst[i] = static_cast<Reg>(base[i * load.stride]);
  }
}

// Fails with the first position of point `i` that is out of bounds.
[[noreturn]] void fail_outside(const Instr& instr, Frame& frame, const Tensor& tensor, int64_t i) {
  for (size_t axis = 0; axis < tensor.shape().size(); ++axis) {
    const int64_t position = frame.reg<int64_t>(instr.index[axis])[i];
    if (position >= 0 && position < tensor.shape()[axis]) continue;
    fail("index {} is out of range for axis {} of {}", position, axis, to_string(tensor.type()));
  }
  fail("an index is out of range for {}", to_string(tensor.type()));
}

// Checks every position: loads the element if it is in bounds, else takes the value outside. If
// there is none, it fails, unless the guard is false: the element is then not selected.
template <typename Stored, typename Reg>
void checked_loop(const Instr& instr, Frame& frame) {
  const Tensor& tensor = (*frame.tensors)[static_cast<size_t>(instr.value)];
  const Stored* elements = tensor.data<Stored>();
  Reg* dst = frame.reg<Reg>(instr.dst);
  const Reg* outside = instr.a >= 0 ? frame.reg<Reg>(instr.a) : nullptr;
  const int64_t* guard = instr.b >= 0 ? frame.reg<int64_t>(instr.b) : nullptr;
  // Concatenations: most strips lie in one input and need no element of the others.
  if (guard != nullptr &&
      std::all_of(guard, guard + frame.count, [](int64_t g) { return g == 0; })) {
    std::fill_n(dst, frame.count, Reg{});
    return;
  }
  std::array<int64_t, kStrip> offsets;
  std::array<uint64_t, kStrip> beyond;  // 1 where a position is out of bounds
  std::fill_n(offsets.begin(), frame.count, 0);
  std::fill_n(beyond.begin(), frame.count, 0);
  uint64_t any = 0;
  for (size_t axis = 0; axis < instr.index.size(); ++axis) {
    const auto extent = static_cast<uint64_t>(tensor.shape()[axis]);
    const int64_t* positions = frame.reg<int64_t>(instr.index[axis]);
    for (int64_t i = 0; i < frame.count; ++i) {
      // Negative positions are huge as unsigned numbers; the offset is not used where one is.
      const auto position = static_cast<uint64_t>(positions[i]);
      const uint64_t is_beyond = position >= extent ? 1 : 0;
      offsets[i] = static_cast<int64_t>(static_cast<uint64_t>(offsets[i]) * extent + position);
      beyond[i] |= is_beyond;
      any |= is_beyond;
    }
  }
  if (any == 0) {
    for (int64_t i = 0; i < frame.count; ++i) dst[i] = static_cast<Reg>(elements[offsets[i]]);
    return;
  }
  for (int64_t i = 0; i < frame.count; ++i) {
    if (beyond[i] == 0) {
      dst[i] = static_cast<Reg>(elements[offsets[i]]);
    } else {
      if (outside == nullptr && (guard == nullptr || guard[i] != 0)) {
        fail_outside(instr, frame, tensor, i);
      }
      dst[i] = outside != nullptr ? outside[i] : Reg{};
    }
  }
}

// Access to element i of an operand of the multiply-add, one type per access pattern.
struct Splat {
  float value;
  explicit Splat(const Frame::LoadState& load)
      : value(reinterpret_cast<const float*>(load.base)[load.reduce_offset + load.origin]) {}
  float operator[](int64_t) const { return value; }
};
struct Contiguous {
  const float* first;
  explicit Contiguous(const Frame::LoadState& load)
      : first(reinterpret_cast<const float*>(load.base) + load.reduce_offset + load.origin) {}
  float operator[](int64_t i) const { return first[i]; }
};
struct Strided {
  const float* first;
  int64_t stride;
  explicit Strided(const Frame::LoadState& load)
      : first(reinterpret_cast<const float*>(load.base) + load.reduce_offset + load.origin),
        stride(load.stride) {}
  float operator[](int64_t i) const { return first[i * stride]; }
};
struct Gathered {
  const float* base;
  const int64_t* offsets;
  explicit Gathered(const Frame::LoadState& load)
      : base(reinterpret_cast<const float*>(load.base) + load.reduce_offset),
        offsets(load.offsets.data()) {}
  float operator[](int64_t i) const { return base[offsets[i]]; }
};

template <typename A, typename B>
void multiply_add(double* __restrict acc, A a, B b, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    acc[i] += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  }
}

template <typename A>
void multiply_add_with(double* acc, A a, const Frame::LoadState& b, int64_t count) {
  if (b.stride == 0) multiply_add(acc, a, Splat(b), count);
  else if (b.stride == 1) multiply_add(acc, a, Contiguous(b), count);
  else multiply_add(acc, a, Strided(b), count);
}

void multiply_add_loop(const Instr& instr, Frame& frame) {
  const Frame::LoadState& a = frame.loads[static_cast<size_t>(instr.a)];
  const Frame::LoadState& b = frame.loads[static_cast<size_t>(instr.b)];
  double* acc = frame.reg<double>(instr.dst);
  if (!frame.linear) multiply_add(acc, Gathered(a), Gathered(b), frame.count);
  else if (a.stride == 0) multiply_add_with(acc, Splat(a), b, frame.count);
  else if (a.stride == 1) multiply_add_with(acc, Contiguous(a), b, frame.count);
  else multiply_add_with(acc, Strided(a), b, frame.count);
}

}  // namespace

Instr::Run strided_load_instruction(DType dtype) {
  return dispatch(dtype, [](auto tag) -> Instr::Run {
    using Stored = typename decltype(tag)::type;
    return strided_loop<Stored, RegOf<Stored>>;
  });
}

Instr::Run checked_load_instruction(DType dtype) {
  return dispatch(dtype, [](auto tag) -> Instr::Run {
    using Stored = typename decltype(tag)::type;
    return checked_loop<Stored, RegOf<Stored>>;
  });
}

Instr::Run multiply_add_instruction() { return multiply_add_loop; }

}  // namespace aoe
