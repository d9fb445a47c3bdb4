// Measures what the cores at hand can do: peak.cpp THREADS BYTES
//
// Prints one line of JSON: the best rate of several loops of fused multiply-adds, in GFLOP/s, and
// the best rate of a plain and a streaming copy between buffers of BYTES in all, in GB/s of bytes
// read and written.

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

constexpr int kRepeats = 12;

double seconds() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

// The sum of all threads' work by the time of the slowest, best of kRepeats.
double best_rate(int threads, double work, const std::function<void(int)>& body) {
  std::barrier sync(threads);
  std::vector<double> begin(threads), end(threads);
  double best = 0;
  auto run = [&](int thread) {
    body(thread);  // Not counted: the clock's rise.
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
      sync.arrive_and_wait();
      begin[thread] = seconds();
      body(thread);
      end[thread] = seconds();
      sync.arrive_and_wait();
      if (thread == 0) {
        const double slowest = *std::max_element(end.begin(), end.end()) -
                               *std::min_element(begin.begin(), begin.end());
        best = std::max(best, threads * work / slowest);
      }
    }
  };
  std::vector<std::jthread> others;
  for (int thread = 1; thread < threads; ++thread) others.emplace_back(run, thread);
  run(0);
  others.clear();
  return best;
}

std::atomic<float> sink;

template <int Lanes>
struct VectorOf {
  typedef float Type __attribute__((vector_size(Lanes * sizeof(float))));
};

// `Chains` sums of vectors of `Lanes` floats, none of which waits for another.
template <int Lanes, size_t... Chain>
void multiply_add(int64_t steps, std::index_sequence<Chain...>) {
  using Vector = typename VectorOf<Lanes>::Type;
  Vector sums[] = {(Vector{} + float(Chain))...};
  // Read at run time, or the loop would be computed by the compiler.
  const Vector factor = Vector{} + sink.load() * 0 + 0.999f, addend = Vector{} + 0.001f;
  for (int64_t step = 0; step < steps; ++step) ((sums[Chain] = sums[Chain] * factor + addend), ...);
  Vector total = (sums[Chain] + ...);
  float result = 0;
  for (int lane = 0; lane < Lanes; ++lane) result += total[lane];
  sink = result;
}

template <int Lanes, int Chains>
double fma_rate(int threads) {
  const int64_t steps = 4'000'000 / Chains;
  const double flops = 2.0 * Lanes * Chains * steps;
  return best_rate(threads, flops,
                   [&](int) { multiply_add<Lanes>(steps, std::make_index_sequence<Chains>()); });
}

double gflops(int threads) {
  double best =
      std::max({fma_rate<4, 10>(threads), fma_rate<4, 12>(threads), fma_rate<4, 16>(threads)});
#if defined(__AVX__)
  best =
      std::max({best, fma_rate<8, 8>(threads), fma_rate<8, 10>(threads), fma_rate<8, 12>(threads)});
#endif
#if defined(__AVX512F__)
  best = std::max(
      {best, fma_rate<16, 8>(threads), fma_rate<16, 12>(threads), fma_rate<16, 24>(threads)});
#endif
  return best / 1e9;
}

void streaming_copy(float* to, const float* from, size_t count) {
#if defined(__AVX__)
  for (size_t i = 0; i < count; i += 8) _mm256_stream_ps(to + i, _mm256_load_ps(from + i));
  _mm_sfence();
#elif defined(__x86_64__)
  for (size_t i = 0; i < count; i += 4) _mm_stream_ps(to + i, _mm_load_ps(from + i));
  _mm_sfence();
#else
  std::memcpy(to, from, count * sizeof(float));
#endif
}

double gbps(int threads, size_t bytes) {
  struct Free {
    void operator()(float* memory) const { std::free(memory); }
  };
  const size_t count = bytes / 2 / threads / sizeof(float) / 64 * 64;
  std::vector<std::unique_ptr<float[], Free>> from(threads), to(threads);
  // By the thread that will copy: memory belongs to the node of the core that touches it first.
  best_rate(threads, 0, [&](int thread) {
    for (auto* side : {&from[thread], &to[thread]}) {
      if (*side) continue;
      side->reset(static_cast<float*>(std::aligned_alloc(64, count * sizeof(float))));
      if (!*side) std::fprintf(stderr, "no memory for %zu bytes\n", bytes), std::exit(1);
      std::fill_n(side->get(), count, 1.0f);
    }
  });
  const double moved = 2.0 * count * sizeof(float);
  const double plain = best_rate(threads, moved, [&](int thread) {
    std::copy_n(from[thread].get(), count, to[thread].get());
  });
  const double streaming = best_rate(threads, moved, [&](int thread) {
    streaming_copy(to[thread].get(), from[thread].get(), count);
  });
  return std::max(plain, streaming) / 1e9;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: peak THREADS BYTES\n"), 2;
  const int threads = std::atoi(argv[1]);
  const double flops = gflops(threads);
  std::printf("{\"gflops\": %.2f, \"gbps\": %.2f}\n", flops,
              gbps(threads, std::strtoull(argv[2], nullptr, 10)));
}
