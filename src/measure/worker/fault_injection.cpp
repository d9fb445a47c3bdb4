#include "measure/worker/fault_injection.h"

#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "device/system_text.h"

namespace aoe {
namespace {

using Kind = InjectedFault::Kind;

constexpr std::pair<std::string_view, Kind> kKinds[] = {
    {"wrong_element", Kind::wrong_element},
    {"nan", Kind::nan},
    {"before", Kind::before},
    {"behind", Kind::behind},
    {"endless_loop", Kind::endless_loop},
    {"crash", Kind::crash},
    {"allocation", Kind::allocation},
    {"killed", Kind::killed},
    {"slowed", Kind::slowed},
};

template <typename Number>
Number number_of(std::string_view text, std::string_view part) {
  Number number = {};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  require(error == std::errc{} && end == text.data() + text.size() && number > 0,
          "AOE_INJECT_FAULT has '{}' in '{}', where a number above 0 is expected", text, part);
  return number;
}

InjectedFault fault_of(std::string_view part) {
  InjectedFault fault;
  const size_t colon = part.find(':');
  require(colon != part.npos, "AOE_INJECT_FAULT has '{}', not candidate:fault", part);
  fault.candidate = static_cast<CandidateId>(number_of<int>(part.substr(0, colon), part));
  std::string_view kind = part.substr(colon + 1);
  if (kind.ends_with("@timing")) {
    fault.timing = true;
    kind.remove_suffix(std::string_view("@timing").size());
  }
  if (const size_t equals = kind.find('='); equals != kind.npos) {
    fault.percent = number_of<double>(kind.substr(equals + 1), part);
    kind = kind.substr(0, equals);
  }
  for (const auto& [name, known] : kKinds) {
    if (name != kind) continue;
    fault.kind = known;
    require((known == Kind::slowed) == (fault.percent > 0),
            "AOE_INJECT_FAULT has '{}': a percentage belongs to 'slowed', as in 3:slowed=5", part);
    return fault;
  }
  fail("AOE_INJECT_FAULT has '{}', and '{}' is no fault", part, kind);
}

void allocate_much() {
  constexpr size_t kBytes = size_t{100} << 30;
  constexpr size_t kPage = 4096;
  const auto memory = std::make_unique_for_overwrite<char[]>(kBytes);
  for (size_t at = 0; at < kBytes; at += kPage) static_cast<volatile char*>(memory.get())[at] = 1;
}

[[noreturn]] void loop_forever() {
  for (volatile bool undecided = true; undecided;) {
  }
  std::abort();
}

void spoil(const TensorType& type, void* output, bool with_nan) {
  dispatch(type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T& element = static_cast<T*>(output)[type.count() / 2];
    if (!is_float(type.dtype)) {
      *reinterpret_cast<unsigned char*>(&element) ^= 1;
      return;
    }
    const float wrong = with_nan ? std::numeric_limits<float>::quiet_NaN() : 100;
    element = static_cast<T>(static_cast<float>(element) * 3 + wrong);
  });
}

}  // namespace

std::vector<InjectedFault> parse_faults(const std::string& text) {
  std::vector<InjectedFault> faults;
  for (const std::string& part : split_text(text, ',')) {
    if (!part.empty()) faults.push_back(fault_of(part));
  }
  return faults;
}

void run_with_fault(const InjectedFault* fault, const Kernel& kernel,
                    std::span<const void* const> inputs, std::span<void* const> outputs,
                    std::byte* work) {
  if (fault == nullptr) return kernel.run_on(inputs, outputs, work);
  const double begin = steady_ns();
  kernel.run_on(inputs, outputs, work);
  const double took = steady_ns() - begin;
  const Workload& workload = kernel.workload();
  const TensorType& type = workload.values[static_cast<size_t>(workload.outputs[0])].type;
  auto* const output = static_cast<volatile char*>(outputs[0]);
  switch (fault->kind) {
    case Kind::wrong_element: return spoil(type, outputs[0], false);
    case Kind::nan: return spoil(type, outputs[0], true);
    case Kind::before: output[-1] = 1; return;
    case Kind::behind: output[bytes_of(type)] = 1; return;
    case Kind::endless_loop: loop_forever();
    // Writes to the first page, which is never mapped; UBSan would intercept a null pointer.
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    case Kind::crash: *reinterpret_cast<volatile char*>(uintptr_t{1}) = 1; return;
    case Kind::allocation: return allocate_much();
    case Kind::killed: kill(getpid(), SIGKILL); return;
    case Kind::slowed:
      while (steady_ns() - begin < took * (1 + fault->percent / 100)) {
      }
  }
}

}  // namespace aoe
