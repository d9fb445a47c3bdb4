#include "device/measure_loops.h"

#include <atomic>
#include <cstring>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace aoe {
namespace {

// Read before and written after each loop, so that the compiler cannot fold or remove the loop.
std::atomic<float> sink;

constexpr float kFactor = 0.999f;  // With the addend below, sums stay near one.
constexpr float kAddend = 0.001f;

// The loop is repeated for each vector width: the target attribute applies to one function, so code
// for an instruction set has to be in a function of its own.

template <size_t... Chain>
void plain_sums(int64_t steps, std::index_sequence<Chain...>) {
  typedef float Vector __attribute__((vector_size(16)));
  const Vector factor = Vector{} + kFactor + 0 * sink.load();
  const Vector addend = Vector{} + kAddend;
  Vector sums[] = {(Vector{} + static_cast<float>(Chain))...};
  for (int64_t step = 0; step < steps; ++step) ((sums[Chain] = sums[Chain] * factor + addend), ...);
  sink = (sums[Chain] + ...)[0];
}

template <int Chains>
FmaLoop plain_loop() {
  return {[](int64_t steps) { plain_sums(steps, std::make_index_sequence<Chains>()); },
          2.0 * 4 * Chains};
}

#if defined(__x86_64__)

template <size_t... Chain>
__attribute__((target("avx2,fma"))) void avx2_sums(int64_t steps, std::index_sequence<Chain...>) {
  const __m256 factor = _mm256_set1_ps(kFactor + 0 * sink.load());
  const __m256 addend = _mm256_set1_ps(kAddend);
  __m256 sums[] = {_mm256_set1_ps(static_cast<float>(Chain))...};
  for (int64_t step = 0; step < steps; ++step) {
    ((sums[Chain] = _mm256_fmadd_ps(sums[Chain], factor, addend)), ...);
  }
  sink = (sums[Chain] + ...)[0];
}

template <int Chains>
FmaLoop avx2_loop() {
  return {[](int64_t steps) { avx2_sums(steps, std::make_index_sequence<Chains>()); },
          2.0 * 8 * Chains};
}

template <size_t... Chain>
__attribute__((target("avx512f"))) void avx512_sums(int64_t steps, std::index_sequence<Chain...>) {
  const __m512 factor = _mm512_set1_ps(kFactor + 0 * sink.load());
  const __m512 addend = _mm512_set1_ps(kAddend);
  __m512 sums[] = {_mm512_set1_ps(static_cast<float>(Chain))...};
  for (int64_t step = 0; step < steps; ++step) {
    ((sums[Chain] = _mm512_fmadd_ps(sums[Chain], factor, addend)), ...);
  }
  sink = (sums[Chain] + ...)[0];
}

template <int Chains>
FmaLoop avx512_loop() {
  return {[](int64_t steps) { avx512_sums(steps, std::make_index_sequence<Chains>()); },
          2.0 * 16 * Chains};
}

__attribute__((target("avx"))) void avx_streaming_copy(float* to, const float* from, size_t count) {
  for (size_t i = 0; i < count; i += 8) _mm256_stream_ps(to + i, _mm256_load_ps(from + i));
  _mm_sfence();
}

#endif

}  // namespace

std::vector<FmaLoop> fma_loops(const Device& device) {
#if defined(__x86_64__)
  if (device.has(Feature::avx512)) {
    // AVX2 too: some processors lower their clock for wide vectors.
    return {avx512_loop<8>(), avx512_loop<12>(), avx512_loop<24>(), avx2_loop<10>()};
  }
  if (device.has(Feature::avx2)) return {avx2_loop<8>(), avx2_loop<10>(), avx2_loop<12>()};
#endif
  static_cast<void>(device);
  return {plain_loop<8>(), plain_loop<10>(), plain_loop<12>()};
}

void streaming_copy(const Device& device, float* to, const float* from, size_t count) {
#if defined(__x86_64__)
  if (device.has(Feature::avx2)) return avx_streaming_copy(to, from, count);
  for (size_t i = 0; i < count; i += 4) _mm_stream_ps(to + i, _mm_load_ps(from + i));
  _mm_sfence();
#else
  static_cast<void>(device);
  std::memcpy(to, from, count * sizeof(float));
#endif
}

}  // namespace aoe
