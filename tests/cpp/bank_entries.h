#pragma once

#include <string>

#include "bank/entry.h"

namespace aoe {

inline const Target kSomeTarget{"x86_64_znver4", "avx512", 2};

// The row-wise maximum of a matrix; another number, another size.
inline std::string max_workload(int number) {
  const std::string n = std::to_string(512 + 2 * number);
  return "in %0 f32[" + n + ",768]\n%1 f32[" + n + "] = max(r:768) %0[a, r]\nout %1\n";
}

inline BankEntry some_entry(int number = 0) {
  return {.workload = max_workload(number),
          .target = kSomeTarget,
          .allowed = Numerics::winograd,
          .policy = "loops outer=1 [r:8x4]\n",
          .mode = "Schedule",
          .baseline = "loops outer=1 [r:8x1]\n",
          .gain = {.before_ns = 1234.5,
                   .after_ns = 1000.25,
                   .speedup_low = 1.2,
                   .speedup_high = 1.26,
                   .noise_floor = 1.011,
                   .samples = 48},
          .total_low = 1.2,
          .names = {"/encoder/max"},
          .types = {"ReduceMax"},
          .evidence = {"20261117-a:7", "20261117-a:9"},
          .processor = "AMD EPYC 9R14",
          .fingerprint = "microcode 0xa101148, 2.60 GHz, caches 32K 1M 32M",
          .date = "2026-11-17T05:30:00Z",
          .effort = "O2"};
}

}  // namespace aoe
