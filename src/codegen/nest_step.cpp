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

class NestStep : public Kernel::Step {
 public:
  NestStep(Nest nest, const Device& device) : nest_(std::move(nest)) {
    Nest plain = nest_;
    for (Loop& loop : plain.loops) {
      streams_ = streams_ || loop.policy.streaming;
      loop.policy.streaming = false;
    }
    const auto compiled = [&](const Nest& which) {
      return compile(to_string(which), device,
                     [&](llvm::Module& module) { emit_nest(module, which, device); });
    };
    code_ = compiled(plain);
    if (streams_) streaming_code_ = compiled(nest_);
    alignment_ = static_cast<uintptr_t>(device.vector_bytes);
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
    const bool aligned = std::all_of(buffers.begin(), buffers.end(), [&](const void* buffer) {
      return reinterpret_cast<uintptr_t>(buffer) % alignment_ == 0;
    });
    auto* const function = (streams_ && aligned ? streaming_code_ : code_)->as<NestFunction>();
    share_work(nest_.points(), grain_, run.threads, nest_.row_bytes(),
               [&](int64_t first, int64_t last, void* rows) {
                 const int64_t range[] = {first, last};
                 if (function(buffers.data(), range, rows) != 0) failed = 1;
               });
    return failed == 0;
  }

  std::string text() const override { return to_string(nest_); }

 private:
  Nest nest_;
  std::shared_ptr<const Code> code_;
  std::shared_ptr<const Code> streaming_code_;  // for buffers that are aligned for it
  bool streams_ = false;
  uintptr_t alignment_ = 1;
  int64_t grain_ = 1;
};

}  // namespace

std::unique_ptr<Kernel::Step> nest_step(Nest nest, const Device& device) {
  return std::make_unique<NestStep>(std::move(nest), device);
}

}  // namespace aoe
