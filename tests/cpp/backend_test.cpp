#include "backend/backend.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/cpp/backends.h"
#include "tests/cpp/small_networks.h"

namespace aoe {
namespace {

TEST(Backends, RunWholeModelsAlike) {
  for (const OnnxBuilder& network : {small_convolutional_network(), small_attention_network()}) {
    const LoadedModel reference = loaded(network, {.threads = 1, .kernels = "reference"});
    const CallMemory expected(reference);
    reference.run_into(expected.inputs(), expected.outputs());
    for (const auto& [name, backend] : backends_for(host_device())) {
      const LoadedModel model = loaded(network, {.threads = 2}, backend);
      const CallMemory found(model);
      model.run_into(found.inputs(), found.outputs());
      for (size_t i = 0; i < expected.outputs().size(); ++i) {
        const auto* const a = static_cast<const float*>(expected.outputs()[i].elements);
        const auto* const b = static_cast<const float*>(found.outputs()[i].elements);
        for (int64_t k = 0; k < expected.outputs()[i].count(); ++k) {
          ASSERT_NEAR(a[k], b[k], 1e-3) << name << ", output " << i << ", element " << k;
        }
      }
    }
  }
}

TEST(Backends, TakeNarrowerVectorsByName) {
  for (const auto& [name, backend] : backends_for(host_device())) {
    EXPECT_EQ(backend_for(backend, ""), backend);
    EXPECT_EQ(backend_for(backend, "reference"), nullptr);
    EXPECT_EQ(backend_for(backend, "sse2")->device().vector_bytes, 16) << name;
    EXPECT_THROW(backend_for(backend, "mmx"), Error);
  }
}

TEST(Backends, OnlyMachineCodeHasFunctionsAndListings) {
  const LoadedModel compiled = loaded(small_attention_network(), {.threads = 1});
  for (const auto& kernel : compiled.executable()->kernels()) {
    EXPECT_FALSE(kernel->compiled().functions().empty());
  }
  const CompiledProgram& program = compiled.executable()->kernels()[0]->compiled();
  EXPECT_NE(program.listing(CompiledProgram::Listing::llvm).find("define"), std::string::npos);
  EXPECT_NE(program.listing(CompiledProgram::Listing::assembly).find("ret"), std::string::npos);
  const LoadedModel interpreted =
      loaded(small_attention_network(), {.threads = 1}, interpreter_backend(host_device()));
  for (const auto& kernel : interpreted.executable()->kernels()) {
    EXPECT_TRUE(kernel->compiled().functions().empty());
    EXPECT_EQ(kernel->spills(), 0);
  }
}

TEST(Backends, TimeWhatTheyRun) {
  int runs = 0;
  EXPECT_GE(host_backend()->time_ns([&] { ++runs; }), 0);
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace aoe
