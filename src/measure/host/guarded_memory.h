#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/tensor.h"

namespace aoe {

// A GuardedMemory is memory between inaccessible guard pages. One end lies against its guard page,
// so that an access beyond it faults. The bytes between the other end and its guard page have a
// fill pattern, which stray_write verifies.
class GuardedMemory {
 public:
  enum class Against { front, back };

  // `label` ("output 0") is at most kLongestLabel bytes.
  GuardedMemory(size_t bytes, size_t alignment, Against against, std::string label);
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  std::byte* elements() const { return elements_; }
  // Makes writes to the memory fault, too.
  void make_read_only();
  // The location of a write to the fill bytes nearest to the elements: "2 bytes behind output 0".
  // Nothing if they are intact.
  std::optional<std::string> stray_write() const;

  static constexpr size_t kLongestLabel = 31;

 private:
  std::byte* base_ = nullptr;  // first accessible page
  size_t inner_ = 0;           // bytes of the accessible pages
  std::byte* elements_ = nullptr;
  size_t bytes_ = 0;
  std::string label_;
  size_t slot_ = 0;
};

// A tensor in guarded memory, which it owns.
Tensor guarded_tensor(const TensorType& type, GuardedMemory::Against against, std::string label);
// A read-only copy of a tensor in guarded memory, which it owns.
Tensor guarded_copy(const Tensor& from, GuardedMemory::Against against, std::string label);

// The guarded memory that a faulting address belongs to.
struct Stray {
  char label[GuardedMemory::kLongestLabel + 1];
  int64_t bytes;  // distance: negative before the memory, positive behind it; 0: read-only memory
};
// Whether the address is in guarded memory or its guards; sets `stray` if so. Takes no lock, so
// that signal handlers can call it.
bool stray_at(const void* address, Stray& stray);
// "the memory 2 bytes behind output 0 was touched"
std::string to_string(const Stray& stray);

}  // namespace aoe
