#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/kernel.h"
#include "measure/worker/candidate.h"

namespace aoe {

// Faults that tests have candidates commit. Only a worker looks at the environment variable
// AOE_INJECT_FAULT: a list like "3:wrong_element,5:endless_loop@timing,7:slowed=5". A number is a
// candidate's; what it does wrong is one of
//
//   wrong_element  nan            in its first output
//   before  behind                a byte beside its first output is written to
//   endless_loop  crash
//   allocation                    100 GB, of which it touches every page
//   killed                        the worker, by a signal that nobody can catch
//   slowed=P                      P percent more time than the kernel took
//
// and it does so while it is checked, with "@timing" while it is timed. A slowed one is slow both
// times.
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

// Throws Error for what it does not understand.
std::vector<InjectedFault> parse_faults(const std::string& text);

// Runs a kernel as Kernel::run_on does, and commits the fault, if there is one.
void run_with_fault(const InjectedFault* fault, const Kernel& kernel,
                    std::span<const void* const> inputs, std::span<void* const> outputs,
                    std::byte* work);

}  // namespace aoe
