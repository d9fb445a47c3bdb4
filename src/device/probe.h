#pragma once

#include <chrono>
#include <functional>

#include "device/device.h"
#include "device/identity.h"

namespace aoe {

// Far longer than a few instructions take even on a busy machine.
inline constexpr std::chrono::milliseconds kProbeTimeout{10'000};

// Whether `body` returns in a child process: false if the child dies, times out or cannot be
// forked. The child has no other threads, but the locks they held stay locked: `body` may call only
// async-signal-safe functions.
bool runs_in_child(const std::function<void()>& body,
                   std::chrono::milliseconds timeout = kProbeTimeout);

// Whether the instructions of all these features execute on the host.
bool features_run(const Features& features);

// The announced features for which `run` returns true, without those that need a missing one.
Features working_features(const Features& announced,
                          const std::function<bool(const Features&)>& run = features_run);

// Sets the features of an x86_64 device, and the size and number of its vector registers.
void set_features(Device& device, const Features& announced, const Features& working);

}  // namespace aoe
