#pragma once

#include <nlohmann/json.hpp>

#include "measure/worker/worker_client.h"

namespace aoe {

// What a client and its worker say to each other: JSON, one object a line. docs/worker.md has every
// message.

using Json = nlohmann::json;

Json to_json(const WorkerTarget& target);
WorkerTarget target_of(const Json& json);

Json to_json(const std::vector<OpenWorkload>& workloads);
std::vector<OpenWorkload> workloads_of(const Json& json);

Json to_json(const std::vector<FailedCandidate>& failed);
std::vector<FailedCandidate> failed_of(const Json& json);

// Of each a list: the plan's candidate, then that of each workload.
Json to_json(const std::vector<Assignment>& assignments);
std::vector<Assignment> assignments_of(const Json& json);

Json to_json(const PassesResult& result);
PassesResult passes_of(const Json& json);

Json to_json(const AloneResult& result);
AloneResult alone_result_of(const Json& json);

// Lines on a socket.
class Lines {
 public:
  explicit Lines(int descriptor) : descriptor_(descriptor) {}

  // False if nobody is there to read it.
  bool write(const Json& message) const;

  enum class Read { line, nothing_yet, end };
  // Waits up to `milliseconds`, or for ever if that is negative, for something to come.
  Read read(std::string& line, int milliseconds);

 private:
  int descriptor_;
  std::string pending_;
};

}  // namespace aoe
