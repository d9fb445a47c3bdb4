#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/backend.h"

namespace aoe {

// An ArenaPool keeps the arenas of one model's runs. A run has a block to itself and returns it for
// the next one: the pool keeps as many blocks as were ever in use at once. Any thread may call it.
class ArenaPool {
  struct Block {
    int64_t bytes = 0;
    std::shared_ptr<void> memory;
  };

 public:
  // Owns a block and returns it to the pool, which must outlive the lease.
  class Lease {
   public:
    Lease(ArenaPool& pool, Block block) : pool_(pool), block_(std::move(block)) {}
    ~Lease() { pool_.give_back(std::move(block_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    std::byte* memory() const { return static_cast<std::byte*>(block_.memory.get()); }

   private:
    ArenaPool& pool_;
    Block block_;
  };

  // Returns a block of at least `bytes`, aligned to kArenaAlignment. Allocates, from the backend if
  // there is one, only if no free block is large enough. Throws std::bad_alloc.
  Lease take(int64_t bytes, const Backend* backend);

 private:
  void give_back(Block block);

  std::mutex mutex_;
  std::vector<Block> free_;
  size_t blocks_ = 0;  // free or in use; `free_` has capacity for all, so give_back cannot fail
};

}  // namespace aoe
