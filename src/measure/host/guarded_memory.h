#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/tensor.h"

namespace aoe {

// Memory between pages that nobody may touch. One side lies against its page; between the other and
// its page are bytes whose change shows afterwards.
class GuardedMemory {
 public:
  enum class Against { front, back };

  // `label` ("output 0") is at most kLongestLabel bytes.
  GuardedMemory(size_t bytes, size_t alignment, Against against, std::string label);
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  std::byte* elements() const { return elements_; }
  // From now on whoever writes to it does what is not allowed, too.
  void make_read_only();
  // Where something was written in the bytes beside it: "2 bytes behind output 0"; nothing if not.
  std::optional<std::string> stray_write() const;

  static constexpr size_t kLongestLabel = 31;

 private:
  std::byte* base_ = nullptr;  // of the pages that may be touched
  size_t inner_ = 0;           // bytes of them
  std::byte* elements_ = nullptr;
  size_t bytes_ = 0;
  std::string label_;
  size_t slot_ = 0;
};

// A tensor in such memory, which lives as long as it.
Tensor guarded_tensor(const TensorType& type, GuardedMemory::Against against, std::string label);
// One that may only be read.
Tensor guarded_copy(const Tensor& from, GuardedMemory::Against against, std::string label);

// What an address that must not be touched belongs to.
struct Stray {
  char label[GuardedMemory::kLongestLabel + 1];
  int64_t bytes;  // before it if negative, behind its last byte if positive; 0: read-only memory
};
// Whether the address is in or beside guarded memory. For handlers of signals: it takes no lock.
bool stray_at(const void* address, Stray& stray);
// "the byte 2 behind output 0 was touched"
std::string to_string(const Stray& stray);

}  // namespace aoe
