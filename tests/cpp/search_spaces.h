#pragma once

#include <memory>

#include "expr/parse.h"
#include "policy/space.h"

// Workloads for tests of searchers, and their spaces on this machine.
namespace aoe {

inline constexpr const char* kProduct = R"(in %0 f32[50,300]
weight %1 f32[300,36]
%2 f32[50,36] = sum(r:300) %0[a, r] * %1[r, b]
out %2
)";
inline constexpr const char* kOtherProduct = R"(in %0 f32[20,128]
weight %1 f32[128,200]
%2 f32[20,200] = sum(r:128) %0[a, r] * %1[r, b]
out %2
)";
inline constexpr const char* kSoftmax = R"(in %0 f32[96,49]
%1 f32[96] = max(r:49) %0[a, r]
%2 f32[96] = sum(r:49) exp(%0[a, r] - %1[a])
%3 f32[96,49] = exp(%0[a, b] - %1[a]) / %2[a]
out %3
)";
inline constexpr const char* kTranspose = R"(in %0 f32[1,24,20,20]
%1 f32[1,20,20,24] = %0[a, d, b, c]
out %1
)";
inline constexpr const char* kConvolution = R"(in %0 f32[1,14,14,32]
weight %1 f32[32,32,3,3]
%2 f32[1,14,14,32] = sum(r:32,s:3,t:3) %0[a, (b + s) - 1, (c + t) - 1, r]?0 * %1[d, r, s, t]
out %2
)";

inline std::shared_ptr<const Space> space_of(const char* text) {
  return std::make_shared<const Space>(std::make_shared<const Workload>(parse_workload(text)),
                                       host_device());
}

}  // namespace aoe
