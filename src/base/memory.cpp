#include "base/memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <list>
#include <map>
#include <mutex>

namespace aoe {
namespace {

// The size of the widest vector registers and of a cache line.
constexpr size_t kAlignment = 64;
constexpr size_t kPage = 4096;
// Blocks of this size and more use huge pages: one replaces 512 entries of the page table.
constexpr size_t kHugePage = size_t{2} << 20;
// Smaller blocks are left to the system's allocator, which reuses them itself.
constexpr size_t kWorthKeeping = size_t{64} << 10;
// Limit of the total size of unused blocks.
constexpr size_t kMostKept = size_t{512} << 20;

size_t rounded(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

// Unused large blocks, found by exact size. Above kMostKept the least recently used are freed.
class Pool {
 public:
  // Never destroyed: tensors may outlive any static object.
  static Pool& instance() {
    static Pool& pool = *new Pool;
    return pool;
  }

  void* take(size_t size) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = by_size_.find(size);
      if (found != by_size_.end()) {
        const auto block = found->second;
        void* memory = block->memory;
        forget(block);
        return memory;
      }
    }
    void* memory = std::aligned_alloc(size >= kHugePage ? kHugePage : kPage, size);
    // A hint: its failure is harmless.
    if (memory != nullptr && size >= kHugePage) madvise(memory, size, MADV_HUGEPAGE);
    return memory;
  }

  // Frees a block that cannot be kept: above the limit, or out of memory for the bookkeeping.
  void give_back(void* memory, size_t size) noexcept {
    if (size > kMostKept || !keep(memory, size)) std::free(memory);
  }

 private:
  struct Block {
    void* memory;
    size_t size;
  };

  bool keep(void* memory, size_t size) noexcept try {
    std::list<Block> dropped;
    {
      const std::lock_guard lock(mutex_);
      std::list<Block> one{{memory, size}};
      by_size_.emplace(size, one.begin());
      kept_.splice(kept_.begin(), one);
      kept_bytes_ += size;
      while (kept_bytes_ > kMostKept) {
        const auto oldest = std::prev(kept_.end());
        kept_bytes_ -= oldest->size;
        forget_size(oldest);
        dropped.splice(dropped.end(), kept_, oldest);
      }
    }
    for (const Block& block : dropped) std::free(block.memory);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }

  void forget_size(std::list<Block>::iterator block) {
    auto [first, last] = by_size_.equal_range(block->size);
    while (first != last && first->second != block) ++first;
    by_size_.erase(first);
  }
  void forget(std::list<Block>::iterator block) {
    forget_size(block);
    kept_bytes_ -= block->size;
    kept_.erase(block);
  }

  std::mutex mutex_;
  std::list<Block> kept_;  // most recently used first
  std::multimap<size_t, std::list<Block>::iterator> by_size_;
  size_t kept_bytes_ = 0;
};

}  // namespace

std::shared_ptr<void> allocate(size_t bytes) {
  if (bytes < kWorthKeeping) {
    return {std::aligned_alloc(kAlignment, rounded(bytes + 1, kAlignment)), std::free};
  }
  const size_t size = rounded(bytes, bytes >= kHugePage ? kHugePage : kPage);
  void* memory = Pool::instance().take(size);
  if (memory == nullptr) return nullptr;
  return {memory, [size](void* block) { Pool::instance().give_back(block, size); }};
}

}  // namespace aoe
