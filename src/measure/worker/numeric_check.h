#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "backend/kernel.h"
#include "measure/worker/candidate.h"
#include "measure/worker/magnitude.h"

namespace aoe {

// Largest accepted difference between a kernel and the reference, relative to the scale of an
// element: the sum of the magnitudes of its terms (measure/worker/magnitude.h), or the largest
// finite magnitude of its tensor where these are not known. 0 for types whose results must be
// equal.
double tolerance_of(DType dtype);
// The same for each output of a workload: a result that was computed in a narrower type on the way
// has the errors of that type.
std::vector<double> tolerances_of(const Workload& workload);

// Computes the magnitudes of a tensor, which takes as long as the reference; empty if they are not
// known.
using MagnitudesOf = std::function<Tensor()>;

// Describes the first element that differs by more than the tolerance, if there is one. Up to `odd`
// elements may lie on the other side of a step: see is_discontinuous(). Calls `magnitudes`, if
// given, at most once, and only if an element differs by more than the tolerance of its own value.
// An element whose magnitude is known to be smaller than `exact_below` must not differ at all.
std::optional<Failure> mismatch_of(const Tensor& result, const Tensor& expected, double tolerance,
                                   int64_t odd = 0, const MagnitudesOf& magnitudes = {},
                                   double exact_below = 0);

// Whether the workload contains a step function of floats (rounding, cast to integer, a comparison
// whose outcomes differ at the step), so that a change in the last bit may move a result to the
// other side of a step. Results on both sides are correct.
bool is_discontinuous(const Workload& workload);

// For each output: how many elements may lie on the other side of such a step.
std::vector<int64_t> allowed_outliers(const Workload& workload);

// Describes the first mismatch in the results of a workload, if there is one: "output 0: element 3
// is 1, not 2 ...".
std::optional<Failure> mismatch_of(const Workload& workload, const std::vector<Tensor>& inputs,
                                   const std::vector<Tensor>& results,
                                   const std::vector<Tensor>& expected, int threads);

// A Checker compares kernels for one workload with the reference, on two inputs: ordinary (random
// numbers and the given weights) and awkward (edge cases). All buffers lie between guard pages, so
// an access out of bounds faults and ends the process; stray_at() attributes the address. Not for
// several threads at once: magnitudes are computed when a comparison first needs them.
class Checker {
 public:
  // `weights` are those of the ordinary input, in the form that Kernel takes; missing ones are
  // random.
  Checker(std::shared_ptr<const Workload> workload, const std::vector<Tensor>& weights,
          int threads);

  static constexpr size_t kInputs = 2;
  // The weights that the kernel for this input must be made with.
  const std::vector<Tensor>& weights(size_t input) const { return cases_[input].weights; }
  // Tensors of weights are empty.
  const std::vector<Tensor>& inputs(size_t input) const { return cases_[input].inputs; }

  // Runs a kernel; the hook through which faults are injected.
  using RunKernel = std::function<void(const Kernel& kernel, std::span<const void* const> inputs,
                                       std::span<void* const> outputs, std::byte* work)>;
  // Compares after `run` has returned, which may take as long as the reference.
  std::optional<Failure> failure_of(const Kernel& kernel, size_t input, const RunKernel& run) const;

 private:
  struct Case {
    std::vector<Tensor> inputs;  // empty for weights
    std::vector<Tensor> weights;
    std::vector<Tensor> expected;
    mutable std::optional<std::vector<Tensor>> magnitudes;  // of the outputs
  };
  // Null for weights, which the kernel contains.
  static std::vector<const void*> pointers(const Case& of);
  const Tensor& magnitudes_of(const Case& of, size_t output) const;

  std::shared_ptr<const Workload> workload_;
  int threads_;
  std::vector<double> tolerances_;
  std::vector<double> exact_below_;  // on edge cases, by the direct method; see binary_places
  std::vector<int64_t> odd_;
  Magnitudes magnitudes_;
  std::array<Case, kInputs> cases_;
};

}  // namespace aoe
