#pragma once

#include <chrono>
#include <functional>

#include "device/device.h"
#include "device/identity.h"

namespace aoe {

// Far more than a busy machine takes to run a few instructions.
inline constexpr std::chrono::milliseconds kProbeTimeout{10'000};

// Whether `body` runs to its end in a child process: false if it dies on the way, is not
// done in time, or no process is to be had. The other threads of this process are not in the child,
// but the locks they held are: `body` may call only what a signal handler may call.
bool runs_in_child(const std::function<void()>& body,
                   std::chrono::milliseconds timeout = kProbeTimeout);

// Whether the instructions of all these features run on the processor at hand.
bool features_run(const Features& features);

// Those of the announced features that `run`.
Features working_features(const Features& announced,
                          const std::function<bool(const Features&)>& run = features_run);

// Writes into the device of an x86_64 what follows from the features it announces and has.
void set_features(Device& device, const Features& announced, const Features& working);

}  // namespace aoe
