#include "measure/host/guarded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cassert>
#include <cstring>
#include <mutex>

#include "base/error.h"

namespace aoe {
namespace {

// Size of the guard on each side: large enough that an access one row too far still hits it.
constexpr size_t kGuardBytes = size_t{256} << 10;
// NaN in every type of floats, which no tolerance excuses: an element that is not written shows.
constexpr auto kFill = std::byte{0xff};

// Table of all guarded memory for signal handlers, which cannot take locks: `base` is stored last
// and cleared first. Memory allocated while all slots are taken is guarded too, but a fault in its
// guards is not attributed to it.
struct Slot {
  std::atomic<const std::byte*> base = nullptr;  // null: free slot
  size_t inner = 0;
  const std::byte* elements = nullptr;
  size_t bytes = 0;
  char label[GuardedMemory::kLongestLabel + 1] = {};
};
std::array<Slot, 16384> slots;
std::mutex slots_mutex;

size_t page_bytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

GuardedMemory::GuardedMemory(size_t bytes, size_t alignment, Against against, std::string label)
    : bytes_(bytes), label_(std::move(label)) {
  assert(label_.size() <= kLongestLabel);
  const size_t page = page_bytes();
  inner_ = (bytes + page - 1) / page * page;
  void* const whole = mmap(nullptr, inner_ + 2 * kGuardBytes, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (whole == MAP_FAILED) throw std::bad_alloc();
  base_ = static_cast<std::byte*>(whole) + kGuardBytes;
  if (inner_ > 0 && mprotect(base_, inner_, PROT_READ | PROT_WRITE) != 0) {
    munmap(whole, inner_ + 2 * kGuardBytes);
    throw std::bad_alloc();
  }
  std::memset(base_, static_cast<int>(kFill), inner_);
  elements_ = base_;
  if (against == Against::back) elements_ += (inner_ - bytes) / alignment * alignment;
  const std::lock_guard lock(slots_mutex);
  while (slot_ < slots.size() && slots[slot_].base.load() != nullptr) ++slot_;
  if (slot_ == slots.size()) return;
  Slot& slot = slots[slot_];
  slot.inner = inner_;
  slot.elements = elements_;
  slot.bytes = bytes_;
  std::memcpy(slot.label, label_.c_str(), label_.size() + 1);
  slot.base.store(base_);
}

GuardedMemory::~GuardedMemory() {
  {
    const std::lock_guard lock(slots_mutex);
    if (slot_ < slots.size()) slots[slot_].base.store(nullptr);
  }
  munmap(base_ - kGuardBytes, inner_ + 2 * kGuardBytes);
}

void GuardedMemory::make_read_only() {
  if (inner_ > 0) require(mprotect(base_, inner_, PROT_READ) == 0, "mprotect failed");
}

std::optional<std::string> GuardedMemory::stray_write() const {
  const std::byte* const end = elements_ + bytes_;
  for (const std::byte* at = elements_; at-- > base_;) {
    if (*at != kFill) return fmt::format("{} bytes before {}", elements_ - at, label_);
  }
  for (const std::byte* at = end; at < base_ + inner_; ++at) {
    if (*at != kFill) return fmt::format("{} bytes behind {}", at - end + 1, label_);
  }
  return std::nullopt;
}

namespace {

std::shared_ptr<GuardedMemory> memory_for(const TensorType& type, GuardedMemory::Against against,
                                          std::string label) {
  const auto alignment = static_cast<size_t>(std::max<int64_t>(1, info(type.dtype).bytes));
  return std::make_shared<GuardedMemory>(static_cast<size_t>(bytes_of(type)), alignment, against,
                                         std::move(label));
}

}  // namespace

Tensor guarded_tensor(const TensorType& type, GuardedMemory::Against against, std::string label) {
  auto memory = memory_for(type, against, std::move(label));
  void* const elements = memory->elements();
  return Tensor::onto(type, elements, std::move(memory));
}

Tensor guarded_copy(const Tensor& from, GuardedMemory::Against against, std::string label) {
  auto memory = memory_for(from.type(), against, std::move(label));
  void* const elements = memory->elements();
  if (from.bytes() > 0) std::memcpy(elements, from.raw(), static_cast<size_t>(from.bytes()));
  memory->make_read_only();
  return Tensor::onto(from.type(), elements, std::move(memory));
}

bool stray_at(const void* address, Stray& stray) {
  const auto* const at = static_cast<const std::byte*>(address);
  for (const Slot& slot : slots) {
    const std::byte* const base = slot.base.load();
    if (base == nullptr || at < base - kGuardBytes || at >= base + slot.inner + kGuardBytes) {
      continue;
    }
    std::memcpy(stray.label, slot.label, sizeof stray.label);
    const std::byte* const end = slot.elements + slot.bytes;
    stray.bytes = at < slot.elements ? at - slot.elements : at >= end ? at - end + 1 : 0;
    return true;
  }
  return false;
}

std::string to_string(const Stray& stray) {
  if (stray.bytes == 0) return fmt::format("{} was written to", stray.label);
  return fmt::format("the memory {} bytes {} {} was touched", std::abs(stray.bytes),
                     stray.bytes < 0 ? "before" : "behind", stray.label);
}

}  // namespace aoe
