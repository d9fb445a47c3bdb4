#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/backend.h"

namespace aoe {

// The memory that runs of one model work in. A run has one block to itself, and leaves it for the
// next one: as many are kept as were ever in use at once. Any thread may call it.
class ArenaPool {
  struct Block {
    int64_t bytes = 0;
    std::shared_ptr<void> memory;
  };

 public:
  // A block that goes back to the pool, which must outlive it.
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

  // At least so many bytes, aligned as what begins in an arena. Throws std::bad_alloc. Allocates,
  // from the backend if there is one, only if no block that was used before is free and large
  // enough.
  Lease take(int64_t bytes, const Backend* backend);

 private:
  void give_back(Block block);

  std::mutex mutex_;
  std::vector<Block> free_;
  size_t blocks_ = 0;  // free or not: there is room for all of them in `free_`
};

}  // namespace aoe
