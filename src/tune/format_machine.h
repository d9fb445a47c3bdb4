#pragma once

#include <map>
#include <string>
#include <vector>

namespace aoe {

// What the tuning of layouts has to know before it begins.
struct FormatsOpened {
  double pass_ns = 0;      // of the model, as it runs now
  double margin = 0.01;    // of a proof on this host
  double noise_floor = 1;  // the factor that the host feigns
  double seconds = 0;      // that opening took
};

// The shortest call of each workload in each round; none of one that cannot be timed.
struct RoundsAlone {
  std::vector<std::vector<double>> ns;
  double seconds = 0;
};

// What whole passes took, in the order asked for; none if the process was lost.
struct PlanPasses {
  std::vector<double> ns;
  double seconds = 0;
};

// What the tuning of layouts asks of the world. Behind it is a worker process, or a journal of what
// one said.
class FormatMachine {
 public:
  virtual ~FormatMachine() = default;
  virtual FormatsOpened open() = 0;
  // Workloads, by their texts, in turns.
  virtual RoundsAlone rounds_alone(const std::vector<std::string>& workloads) = 0;
  // Passes of the model as it is (false) and with layouts solved from times, by graph (true), in a
  // process that has run nothing yet.
  virtual PlanPasses plans(const std::map<std::string, std::string>& graph_times,
                           const std::vector<bool>& order) = 0;
  // Is told what was decided.
  virtual void decide(const std::string& question, const std::string& decision) = 0;
};

}  // namespace aoe
