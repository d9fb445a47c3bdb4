#include "runtime/arena_pool.h"

#include <algorithm>
#include <new>

#include "base/memory.h"

namespace aoe {

ArenaPool::Lease ArenaPool::take(int64_t bytes, const Backend* backend) {
  Block too_small;
  {
    const std::lock_guard lock(mutex_);
    const auto size = [](const Block& a, const Block& b) { return a.bytes < b.bytes; };
    std::sort(free_.begin(), free_.end(), size);
    const auto found = std::lower_bound(free_.begin(), free_.end(), Block{bytes, nullptr}, size);
    if (found != free_.end()) {
      Block block = std::move(*found);
      free_.erase(found);
      return {*this, std::move(block)};
    }
    if (free_.empty()) {
      free_.reserve(blocks_ + 1);
      ++blocks_;
    } else {
      // All are too small: frees the largest, which a larger one replaces.
      too_small = std::move(free_.back());
      free_.pop_back();
    }
  }
  too_small.memory.reset();
  std::shared_ptr<void> memory =
      backend != nullptr ? backend->allocate(bytes) : allocate(static_cast<size_t>(bytes));
  if (!memory) throw std::bad_alloc();
  return {*this, {bytes, std::move(memory)}};
}

void ArenaPool::give_back(Block block) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(block));
}

}  // namespace aoe
