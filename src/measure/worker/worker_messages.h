#pragma once

#include <nlohmann/json.hpp>

#include "measure/worker/worker_client.h"

namespace aoe {

// The messages between a client and its worker: JSON objects, one per line. docs/worker.md lists
// them.

using Json = nlohmann::json;

Json to_json(const WorkerTarget& target);
WorkerTarget target_of(const Json& json);

Json to_json(const std::vector<OpenWorkload>& workloads);
std::vector<OpenWorkload> workloads_of(const Json& json);

Json to_json(const std::vector<FailedCandidate>& failed);
std::vector<FailedCandidate> failed_of(const Json& json);

// Each assignment is a list: the plan's candidate, then the candidate of each workload.
Json to_json(const std::vector<Assignment>& assignments);
std::vector<Assignment> assignments_of(const Json& json);

Json to_json(const PassesResult& result);
PassesResult passes_of(const Json& json);

Json to_json(const AloneResult& result);
AloneResult alone_result_of(const Json& json);

// Messages on a socket, one per line. The caller owns the descriptor.
class Lines {
 public:
  explicit Lines(int descriptor) : descriptor_(descriptor) {}

  // False if the other end is closed.
  bool write(const Json& message) const;

  enum class Read { line, nothing_yet, end };
  // Waits up to `milliseconds` for data, or forever if that is negative. Returns nothing_yet also
  // if a signal interrupts the wait.
  Read read(std::string& line, int milliseconds);

 private:
  int descriptor_;
  std::string pending_;
};

}  // namespace aoe
