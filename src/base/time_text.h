#pragma once

#include <chrono>
#include <string>

namespace aoe {

using SystemTime = std::chrono::system_clock::time_point;

// "2026-11-17T05:30:00Z": a moment that other machines will read about.
std::string utc_text(SystemTime time);

// "20261117_053328123", in local time: names of what a job leaves behind have it.
std::string timestamp_text(SystemTime time);

}  // namespace aoe
