#include "codegen/nest_step.h"

#include <algorithm>
#include <atomic>

#include "codegen/jit.h"
#include "codegen/nest_emitter.h"

namespace aoe {
namespace {

// Points of loops below this are not worth another thread.
constexpr int64_t kWorthSharing = 1 << 15;

int64_t iterations(const Nest& nest) {
  int64_t total = 0;
  for (const Loop& loop : nest.loops) total += element_count(loop.extents);
  return total;
}

Nest without_streaming(Nest nest) {
  for (Loop& loop : nest.loops) loop.policy.streaming = false;
  return nest;
}

class NestStep : public Kernel::Step {
 public:
  NestStep(Nest nest, const Device& device) : nest_(std::move(nest)), device_(device) {
    code_ = compiled(nest_);
    for (const Loop& loop : nest_.loops) streams_ = streams_ || loop.policy.streaming;
    if (streams_) plain_ = compiled(without_streaming(nest_));
    const int64_t points = nest_.points();
    const int64_t each = std::max<int64_t>(1, iterations(nest_) / std::max<int64_t>(1, points));
    grain_ = std::max<int64_t>(1, kWorthSharing / each);
  }

  bool run(const StepRun& run) const override {
    std::atomic<int> failed = 0;
    const bool past_caches = streams_ && is_aligned(run);
    auto* const function = (streams_ && !past_caches ? plain_ : code_)->as<NestFunction>();
    share_work(run, nest_.points(), grain_, work_bytes(),
               [&](int64_t first, int64_t last, std::byte* work) {
                 auto* const buffers = reinterpret_cast<void**>(work);
                 for (size_t i = 0; i < nest_.buffers.size(); ++i) {
                   const NestBuffer& buffer = nest_.buffers[i];
                   buffers[i] =
                       buffer.row ? nullptr : run.values[static_cast<size_t>(buffer.value)];
                 }
                 const int64_t range[] = {first, last};
                 if (function(buffers, range, work + table_bytes()) != 0) failed = 1;
               });
    return failed == 0;
  }

  int64_t work_bytes() const override { return table_bytes() + aligned_work(nest_.row_bytes()); }

  std::vector<int> values() const override {
    std::vector<int> values;
    for (const NestBuffer& buffer : nest_.buffers) {
      if (!buffer.row) values.push_back(buffer.value);
    }
    return values;
  }

  std::string text() const override { return to_string(nest_); }

  std::vector<Part> parts() const override {
    return {{code_, [this](llvm::Module& module) { emit_nest(module, nest_, device_); }}};
  }

 private:
  std::shared_ptr<const Code> compiled(const Nest& nest) const {
    return compile(to_string(nest), device_,
                   [&](llvm::Module& module) { emit_nest(module, nest, device_); });
  }

  // The list of buffers comes first in a thread's memory, then its rows.
  int64_t table_bytes() const {
    return aligned_work(static_cast<int64_t>(nest_.buffers.size() * sizeof(void*)));
  }

  // Stores past the caches need whole registers' alignment, which memory from outside need not
  // have.
  bool is_aligned(const StepRun& run) const {
    for (const Loop& loop : nest_.loops) {
      if (!loop.policy.streaming) continue;
      for (const NestStore& store : loop.stores) {
        const NestBuffer& buffer = nest_.buffers[static_cast<size_t>(store.buffer)];
        if (buffer.row) continue;
        const auto address =
            reinterpret_cast<uintptr_t>(run.values[static_cast<size_t>(buffer.value)]);
        if (address % static_cast<uintptr_t>(device_.vector_bytes) != 0) return false;
      }
    }
    return true;
  }

  Nest nest_;
  Device device_;
  bool streams_ = false;
  std::shared_ptr<const Code> code_;
  std::shared_ptr<const Code> plain_;  // the same with plain stores only
  int64_t grain_ = 1;
};

}  // namespace

std::unique_ptr<Kernel::Step> nest_step(Nest nest, const Device& device) {
  return std::make_unique<NestStep>(std::move(nest), device);
}

}  // namespace aoe
