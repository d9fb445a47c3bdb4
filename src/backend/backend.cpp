#include "backend/backend.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

namespace aoe {

std::shared_ptr<void> Backend::allocate(int64_t bytes) const {
  return aoe::allocate(static_cast<size_t>(bytes));
}

double Backend::time_ns(FunctionRef<void()> run) const {
  const double begin = steady_ns();
  run();
  return steady_ns() - begin;
}

std::shared_ptr<const Backend> backend_for(const std::shared_ptr<const Backend>& host,
                                           const std::string& kernels) {
  if (kernels == "reference") return nullptr;
  if (kernels.empty()) return host;
  const auto vectors = vector_feature_named(kernels);
  require(vectors.has_value(),
          "kernels is '{}'; sse2, avx2 or avx512 is expected, or reference for no kernels",
          kernels);
  return host->with(narrowed(host->device(), *vectors));
}

}  // namespace aoe
