#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace aoe {

// Why a candidate is out of the race. It never comes back in the same job.
enum class Cause {
  illegal_policy,  // its text does not parse, or is not valid for the workload on this device
  compile_error,
  spills,        // inner loops keep vector registers in memory
  wrong_result,  // further from the reference than the type's tolerance allows
  not_a_number,  // NaN where the reference has a number
  out_of_bounds,
  crash,
  time_out,       // no end within the deadline, or longer than the limit it was given
  out_of_memory,  // more than the worker may have
  killed,         // the worker ended from outside while the candidate was at work
};

// The word for it in journals, messages and requests: "wrong_result".
std::string_view name(Cause cause);
std::optional<Cause> cause_named(std::string_view name);

struct Failure {
  Cause cause = Cause::crash;
  // One sentence: "output 0, element 17 is 3.5, not 2.5; up to 0.0001 may differ".
  std::string detail;
};

}  // namespace aoe
