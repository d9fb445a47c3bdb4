#include <optional>

#include "base/parallel.h"
#include "codegen/step.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace aoe {
namespace {

// Denormal numbers cost a hundred times what others do, and carry nothing: inside kernels they are
// zero. The caller's mode comes back.
class FlushDenormals {
 public:
#if defined(__x86_64__)
  FlushDenormals() : before_(_mm_getcsr()) {
    constexpr unsigned kFlushToZero = 0x8000;
    constexpr unsigned kDenormalsAreZero = 0x0040;
    _mm_setcsr(before_ | kFlushToZero | kDenormalsAreZero);
  }
  ~FlushDenormals() { _mm_setcsr(before_); }
#else
  FlushDenormals() = default;
#endif
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__x86_64__)
  unsigned before_;
#endif
};

// Stores past the caches are seen by other threads only after this.
void finish_streaming_stores() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace

void share_work(const StepRun& run, int64_t count, int64_t grain, int64_t work_bytes,
                FunctionRef<void(int64_t, int64_t, std::byte*)> body) {
  const auto part = [&](int64_t first, int64_t last, int worker) {
    std::optional<FlushDenormals> flush;
    if (run.flush_denormals) flush.emplace();
    body(first, last, run.work + worker * work_bytes);
    finish_streaming_stores();
  };
  parallel_for(count, grain, run.threads, part);
}

}  // namespace aoe
