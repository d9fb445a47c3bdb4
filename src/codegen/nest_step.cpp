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
    std::vector<void*> buffers;
    for (const NestBuffer& buffer : nest_.buffers) {
      buffers.push_back(buffer.row ? nullptr : run.values[static_cast<size_t>(buffer.value)]);
    }
    std::atomic<int> failed = 0;
    const bool past_caches = streams_ && is_aligned(buffers);
    auto* const function = (streams_ && !past_caches ? plain_ : code_)->as<NestFunction>();
    share_work(run, nest_.points(), grain_, nest_.row_bytes(),
               [&](int64_t first, int64_t last, void* rows) {
                 const int64_t range[] = {first, last};
                 if (function(buffers.data(), range, rows) != 0) failed = 1;
               });
    return failed == 0;
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

  // Stores past the caches need whole registers' alignment, which memory from outside need not
  // have.
  bool is_aligned(const std::vector<void*>& buffers) const {
    for (const Loop& loop : nest_.loops) {
      if (!loop.policy.streaming) continue;
      for (const NestStore& store : loop.stores) {
        const auto address =
            reinterpret_cast<uintptr_t>(buffers[static_cast<size_t>(store.buffer)]);
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
