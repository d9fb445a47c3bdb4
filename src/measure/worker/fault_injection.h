#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/kernel.h"
#include "measure/worker/candidate.h"

namespace aoe {

// A fault that a candidate commits in a test. The environment variable AOE_INJECT_FAULT, which only
// workers read, has a list like "3:wrong_element,5:endless_loop@timing,7:slowed=5" of candidate
// numbers and faults:
//
//   wrong_element  nan            in the first output
//   before  behind                writes the byte before or behind the first output
//   endless_loop  crash
//   allocation                    allocates 100 GB and touches every page
//   killed                        kills the worker with SIGKILL
//   slowed=P                      takes P percent more time than the kernel
//
// A fault happens while the candidate is checked, or with "@timing" while it is timed; "slowed"
// applies to both.
struct InjectedFault {
  enum class Kind {
    wrong_element,
    nan,
    before,
    behind,
    endless_loop,
    crash,
    allocation,
    killed,
    slowed
  };

  CandidateId candidate = CandidateId::baseline;
  Kind kind = Kind::crash;
  bool timing = false;
  double percent = 0;
};

// Throws Error for invalid text.
std::vector<InjectedFault> parse_faults(const std::string& text);

// Runs a kernel by Kernel::run_on and then commits `fault`, if that is not null.
void run_with_fault(const InjectedFault* fault, const Kernel& kernel,
                    std::span<const void* const> inputs, std::span<void* const> outputs,
                    std::byte* work);

}  // namespace aoe
