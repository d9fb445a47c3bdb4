#include "base/error.h"
#include "measure/clock.h"
#include "measure/host_check.h"
#include "measure/intervals.h"
#include "tune/format_machine.h"
#include "tune/worker_machine.h"

namespace aoe {
namespace {

// Each call of a round is the shortest of several: what rounds are for is what changes slowly.
constexpr int kRounds = 5;

class WorkerFormats : public FormatMachine {
 public:
  explicit WorkerFormats(WorkerMachineOptions options) : options_(std::move(options)) {
    WorkerOptions of_worker;
    of_worker.cpus = measuring_cpus(options_.target.threads);
    const double begin = steady_ns();
    worker_ = std::make_unique<Worker>(options_.target, of_worker);
    opening_s_ = since(begin);
  }

  FormatsOpened open() override {
    const double begin = steady_ns();
    const HostFigures host = check_host();
    FormatsOpened opened;
    opened.margin = kMargin * margin_factor(host);
    opened.noise_floor = host.noise_floor;
    for (const OpenWorkload& one : worker_->workloads()) opened.pass_ns += one.own_ns;
    opened.seconds = opening_s_ + since(begin);
    return opened;
  }

  RoundsAlone rounds_alone(const std::vector<std::string>& workloads) override {
    const double begin = steady_ns();
    RoundsAlone rounds;
    try {
      rounds.ns = worker_->rounds_alone(workloads, kRounds);
    } catch (const Error&) {
      rounds.ns.assign(workloads.size(), {});  // too large to be called alone, say
    }
    end_if_stopped();
    rounds.seconds = since(begin);
    return rounds;
  }

  PlanPasses plans(const std::map<std::string, std::string>& graph_times,
                   const std::vector<bool>& order) override {
    const double begin = steady_ns();
    PlanPasses passes;
    worker_->replace();
    try {
      passes.ns = worker_->plans(graph_times, order);
    } catch (const Error&) {
      passes.ns.clear();  // no memory for both at once, say
    }
    end_if_stopped();
    passes.seconds = since(begin);
    return passes;
  }

  void decide(const std::string&, const std::string&) override {}

 private:
  static double since(double begin_ns) { return (steady_ns() - begin_ns) / 1e9; }
  void end_if_stopped() const {
    if (options_.stopped()) throw Interrupted();
  }

  WorkerMachineOptions options_;
  std::unique_ptr<Worker> worker_;
  double opening_s_ = 0;
};

}  // namespace

std::unique_ptr<FormatMachine> worker_formats(WorkerMachineOptions options) {
  return std::make_unique<WorkerFormats>(std::move(options));
}

}  // namespace aoe
