#include "plan/arena.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/shape.h"

namespace aoe {

Arena arena_of(std::span<const Lifetime> lifetimes) {
  std::vector<size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });
  Arena arena{std::vector<int64_t>(lifetimes.size()), 0};
  std::vector<size_t> placed;  // sorted by offset
  const auto end_of = [&](size_t i) {
    return checked_add(arena.offsets[i],
                       checked_mul(ceil_div(lifetimes[i].bytes, kArenaAlignment), kArenaAlignment));
  };
  for (const size_t i : order) {
    const Lifetime& lifetime = lifetimes[i];
    if (lifetime.bytes == 0) continue;
    int64_t end = 0;  // of the overlapping buffers visited so far
    int64_t smallest = std::numeric_limits<int64_t>::max();
    int64_t best = -1;
    for (const size_t other : placed) {
      if (lifetimes[other].first > lifetime.last || lifetimes[other].last < lifetime.first)
        continue;
      const int64_t gap = arena.offsets[other] - end;
      if (gap >= lifetime.bytes && gap < smallest) {
        smallest = gap;
        best = end;
      }
      end = std::max(end, end_of(other));
    }
    arena.offsets[i] = best >= 0 ? best : end;
    arena.bytes = std::max(arena.bytes, end_of(i));
    const auto after = std::upper_bound(placed.begin(), placed.end(), i, [&](size_t a, size_t b) {
      return arena.offsets[a] < arena.offsets[b];
    });
    placed.insert(after, i);
  }
  return arena;
}

}  // namespace aoe
