#include <gtest/gtest.h>

#include <map>

#include "base/memory.h"
#include "codegen/cpu_backend.h"
#include "policy/space.h"
#include "runtime/loaded_model.h"
#include "tests/cpp/small_networks.h"

namespace aoe {
namespace {

// Replaces a model's kernels by kernels with random policies.
class OtherKernels : public KernelOverride {
 public:
  explicit OtherKernels(const Executable& executable) {
    std::mt19937_64 random(7);
    for (const KernelUse& use : executable.kernel_uses()) {
      const auto workload = std::make_shared<const Workload>(use.kernel->workload());
      const Policy policy = Space(workload, host_device()).sample(random);
      kernels_[use.step] =
          std::make_unique<Kernel>(workload, policy, *host_backend(), 1, use.weights);
    }
  }

  void run_kernel(size_t step, std::span<const void* const> inputs,
                  std::span<void* const> outputs) override {
    const Kernel& kernel = *kernels_.at(step);
    const auto work = allocate(static_cast<size_t>(kernel.work_bytes()));
    kernel.run_on(inputs, outputs, static_cast<std::byte*>(work.get()));
    ++runs;
  }

  size_t kernels() const { return kernels_.size(); }
  size_t runs = 0;

 private:
  std::map<size_t, std::unique_ptr<Kernel>> kernels_;
};

TEST(KernelOverride, RunsOtherKernelsToTheSameResults) {
  for (const OnnxBuilder& network : {small_convolutional_network(), small_attention_network()}) {
    const LoadedModel model = loaded(network, {.threads = 1, .keep_weights = true});
    const Executable& executable = *model.executable();
    const CallMemory own(model);
    const CallMemory other(model);
    executable.run_into(own.inputs(), own.outputs());
    OtherKernels others(executable);
    executable.run_into(other.inputs(), other.outputs(), nullptr, &others);
    EXPECT_GT(others.runs, 0u);
    EXPECT_EQ(others.runs, others.kernels());
    for (size_t i = 0; i < own.outputs().size(); ++i) {
      const TensorView& a = own.outputs()[i];
      const TensorView& b = other.outputs()[i];
      ASSERT_EQ(a.dtype, DType::f32);
      for (int64_t k = 0; k < a.count(); ++k) {
        ASSERT_NEAR(static_cast<float*>(a.elements)[k], static_cast<float*>(b.elements)[k], 1e-3);
      }
    }
  }
}

}  // namespace
}  // namespace aoe
