#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "backend/kernel.h"
#include "measure/worker/candidate.h"

namespace aoe {

// How far kernels may be from the reference in floats of a type, relative to the largest number of
// a result; 0 for what must be equal.
double tolerance_of(DType dtype);

// What is wrong with the first element that is too far from what is expected, if there is one. So
// many as `odd` may lie on the other side of a step: see jumps().
std::optional<Failure> mismatch_of(const Tensor& result, const Tensor& expected, double tolerance,
                                   int64_t odd = 0);

// Whether what is computed jumps where a float changes by its last bit: roundings, casts to
// integers. Both sides of such a step are right.
bool jumps(const Workload& workload);

// For each output, how many elements may lie on the other side of such a step.
std::vector<int64_t> odd_elements(const Workload& workload);

// What is wrong with a workload's results, if something is: "output 0: element 3 is 1, not 2 ...".
std::optional<Failure> mismatch_of(const Workload& workload, const std::vector<Tensor>& results,
                                   const std::vector<Tensor>& expected);

// Finds kernels for one workload that do not compute what the reference does. They run on two
// inputs, ordinary numbers and awkward ones, each between pages that nobody may touch: what leaves
// its memory there ends the process, with its address beside guarded memory.
class Checker {
 public:
  // `weights` as Kernel takes them, for the ordinary input; random ones where none are given.
  Checker(std::shared_ptr<const Workload> workload, const std::vector<Tensor>& weights,
          int threads);

  static constexpr size_t kInputs = 2;
  // With which the kernel for an input is made.
  const std::vector<Tensor>& weights(size_t input) const { return cases_[input].weights; }
  // Empty ones for weights.
  const std::vector<Tensor>& inputs(size_t input) const { return cases_[input].inputs; }

  // Runs a kernel; faults may be injected there.
  using RunKernel = std::function<void(const Kernel& kernel, std::span<const void* const> inputs,
                                       std::span<void* const> outputs, std::byte* work)>;
  std::optional<Failure> failure_of(const Kernel& kernel, size_t input, const RunKernel& run) const;

 private:
  struct Case {
    std::vector<Tensor> inputs;  // empty for weights
    std::vector<Tensor> weights;
    std::vector<Tensor> expected;
  };
  // Null for what a kernel has in itself.
  static std::vector<const void*> pointers(const Case& of);

  std::shared_ptr<const Workload> workload_;
  int threads_;
  std::vector<int64_t> odd_;
  std::array<Case, kInputs> cases_;
};

}  // namespace aoe
