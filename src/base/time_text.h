#pragma once

#include <chrono>
#include <string>

namespace aoe {

using SystemTime = std::chrono::system_clock::time_point;

// "2026-11-17T05:30:00Z", in UTC: for records that are read on other machines.
std::string utc_text(SystemTime time);

// "20261117_053328123", in local time with milliseconds: for names of a job's files and folders.
std::string timestamp_text(SystemTime time);

}  // namespace aoe
