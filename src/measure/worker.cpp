#include "measure/worker.h"

#include <signal.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <set>

#include "base/error.h"
#include "measure/clock.h"
#include "measure/worker_process.h"

namespace aoe {
namespace {

using Phase = WorkerPage::Phase;

// Why a request has no answer.
struct Loss {
  Candidate candidate = 0;
  Failure failure;
};

}  // namespace

std::string name_of(const OpenWorkload& workload) {
  std::string name;
  for (const auto& node : workload.nodes) name += node.name.empty() ? node.type : node.name;
  return name;
}

class Worker::Client {
 public:
  Client(WorkerTarget target, WorkerOptions options)
      : target_(std::move(target)), options_(std::move(options)) {
    start();
  }

  const std::vector<OpenWorkload>& workloads() const { return workloads_; }
  int64_t losses() const { return losses_; }
  int64_t process_id() const { return process_->id(); }
  void replace() { start(); }

  std::variant<Candidate, Failure> compile(int workload, const std::string& policy) {
    const Candidate candidate = next_++;
    auto answer = ask(
        {{"do", "compile"}, {"candidate", candidate}, {"workload", workload}, {"policy", policy}});
    if (const Loss* loss = std::get_if<Loss>(&answer)) {
      require(loss->candidate == candidate, "workload {} cannot be checked: {}", workload,
              loss->failure.detail);
      return loss->failure;
    }
    const std::vector<FailedCandidate> failed = failed_of(std::get<Json>(answer).at("failed"));
    if (!failed.empty()) return failed[0].failure;
    known_[candidate] = {workload, policy, true};
    return candidate;
  }

  Candidate adopt(int workload, const std::string& policy) {
    const Candidate candidate = next_++;
    known_[candidate] = {workload, policy, false};
    return candidate;
  }

  PassesResult passes(const std::vector<Assignment>& assignments,
                      const std::vector<double>& limits_ns) {
    std::set<Candidate> about;
    for (const Assignment& assignment : assignments) {
      about.insert(assignment.begin(), assignment.end());
    }
    auto answer =
        ask({{"do", "passes"}, {"assignments", assignments}, {"limits_ns", limits_ns}}, about);
    if (const Loss* loss = std::get_if<Loss>(&answer)) return {{}, {forgotten(*loss)}};
    PassesResult result = passes_of(std::get<Json>(answer));
    for (const FailedCandidate& failed : result.failed) known_.erase(failed.candidate);
    return result;
  }

  AloneResult alone(int workload, const std::vector<Candidate>& order, Caches caches,
                    double limit_ns) {
    auto answer = ask({{"do", "alone"},
                       {"workload", workload},
                       {"order", order},
                       {"cold", caches == Caches::cold},
                       {"limit_ns", limit_ns}},
                      {order.begin(), order.end()});
    if (const Loss* loss = std::get_if<Loss>(&answer)) return {{}, {forgotten(*loss)}};
    AloneResult result = alone_of(std::get<Json>(answer));
    for (const FailedCandidate& failed : result.failed) known_.erase(failed.candidate);
    return result;
  }

  std::vector<std::vector<double>> rounds_alone(const std::vector<std::string>& workloads,
                                                int rounds) {
    auto answer = ask({{"do", "rounds_alone"}, {"workloads", workloads}, {"rounds", rounds}});
    if (std::holds_alternative<Loss>(answer)) {
      return std::vector<std::vector<double>>(workloads.size());
    }
    return std::get<Json>(answer).at("ns");
  }

  std::vector<double> plans(const std::map<std::string, std::string>& graph_times,
                            const std::vector<bool>& order) {
    auto answer = ask({{"do", "plans"}, {"graph_times", graph_times}, {"order", order}});
    if (std::holds_alternative<Loss>(answer)) return {};
    return std::get<Json>(answer).at("ns");
  }

 private:
  struct Known {
    int workload = 0;
    std::string policy;
    bool introduced = false;  // to the process at work
  };

  void start() {
    process_.reset();
    for (auto& [candidate, known] : known_) known.introduced = false;
    process_ = std::make_unique<WorkerProcess>(options_.program, target_.model);
    Json request = to_json(target_);
    request["do"] = "open";
    request["cpus"] = options_.cpus;
    request["memory_bytes"] = options_.memory_bytes;
    request["refuse_spills"] = options_.refuse_spills;
    auto answer = exchange(request);
    if (const Loss* loss = std::get_if<Loss>(&answer)) {
      fail("a worker process cannot open it: {}", loss->failure.detail);
    }
    std::vector<OpenWorkload> opened = workloads_of(std::get<Json>(answer).at("workloads"));
    if (workloads_.empty()) {
      workloads_ = std::move(opened);
      return;
    }
    // Callers hold on to those of the first process.
    const bool same =
        std::equal(workloads_.begin(), workloads_.end(), opened.begin(), opened.end(),
                   [](const OpenWorkload& a, const OpenWorkload& b) { return a.text == b.text; });
    require(same, "'{}' is no longer the model that it was", target_.model.string());
  }

  // Tells the process of candidates that it does not know, because it took the place of another.
  std::optional<Loss> introduce(const std::set<Candidate>& candidates) {
    for (const Candidate candidate : candidates) {
      if (candidate == 0) continue;
      const auto found = known_.find(candidate);
      require(found != known_.end(), "candidate {} has failed, or never was", candidate);
      Known& known = found->second;
      if (known.introduced) continue;
      auto answer = exchange({{"do", "adopt"},
                              {"candidate", candidate},
                              {"workload", known.workload},
                              {"policy", known.policy}});
      if (const Loss* loss = std::get_if<Loss>(&answer)) return *loss;
      known.introduced = true;
    }
    return std::nullopt;
  }

  FailedCandidate forgotten(const Loss& loss) {
    known_.erase(loss.candidate);
    return {loss.candidate, loss.failure};
  }

  // One request and its answer, from a process that knows what it is about. A lost one is replaced;
  // if somebody killed it while no candidate was at work, the next one is asked.
  std::variant<Json, Loss> ask(const Json& request, const std::set<Candidate>& about = {}) {
    constexpr int kMostKills = 3;
    for (int kills = 1;; ++kills) {
      const std::optional<Loss> early = introduce(about);
      std::variant<Json, Loss> answer =
          early ? std::variant<Json, Loss>(*early) : exchange(request);
      if (process_alive_) return answer;
      ++losses_;
      const Loss& loss = std::get<Loss>(answer);
      known_.erase(loss.candidate);
      start();
      const bool nobodys_fault = loss.candidate == 0 && loss.failure.cause == Cause::killed;
      if (!nobodys_fault || kills == kMostKills) return answer;
    }
  }

  double seconds_for(Phase phase) const {
    switch (phase) {
      case Phase::opening: return options_.open_seconds;
      case Phase::compiling: return options_.compile_seconds;
      default: return options_.run_seconds;
    }
  }

  // Throws Error if the request is at fault.
  std::variant<Json, Loss> exchange(const Json& request) {
    process_alive_ = true;
    const bool written = process_->lines().write(request);
    std::string line;
    if (!written || !wait_for(line)) {
      process_alive_ = false;
      return loss();
    }
    const Json answer = Json::parse(line, nullptr, false);
    if (answer.is_discarded() || !answer.is_object()) {
      process_alive_ = false;
      return Loss{process_->page().candidate.load(),
                  {Cause::crash, "its answer cannot be understood"}};
    }
    if (answer.contains("error")) fail("{}", answer.at("error").get<std::string>());
    if (!answer.contains("lost")) return answer;
    const FailedCandidate failed = failed_of(answer.at("lost")).at(0);
    return Loss{failed.candidate, failed.failure};
  }

  // False if it died, or seems to hang: then it is killed.
  bool wait_for(std::string& line) {
    const WorkerPage& page = process_->page();
    timed_out_ = false;
    const double slice =
        std::min({options_.open_seconds, options_.compile_seconds, options_.run_seconds});
    const int slice_ms =
        static_cast<int>(std::clamp(slice * 1e3, 1.0, double{std::numeric_limits<int>::max()}));
    uint64_t beats = page.beats.load();
    double since_ns = steady_ns();
    for (;;) {
      const Lines::Read read = process_->lines().read(line, slice_ms);
      if (read != Lines::Read::nothing_yet) return read == Lines::Read::line;
      const uint64_t now = page.beats.load();
      if (now != beats) {
        beats = now;
        since_ns = steady_ns();
      } else if ((steady_ns() - since_ns) / 1e9 >= seconds_for(page.phase.load())) {
        timed_out_ = true;
        process_->kill();
        return false;
      }
    }
  }

  // What is left of a process to tell of.
  Loss loss() {
    const WorkerPage& page = process_->page();
    const Phase phase = page.phase.load();
    const Candidate candidate = page.candidate.load();
    const int signal = process_->ended_by();
    if (timed_out_) {
      return {candidate, {Cause::time_out, fmt::format("no end after {} s", seconds_for(phase))}};
    }
    if (page.strayed.load()) return {candidate, {Cause::out_of_bounds, to_string(page.stray)}};
    if (signal == SIGKILL) {
      return {candidate, {Cause::killed, "the worker process was killed"}};
    }
    std::string detail = signal != 0 ? fmt::format("signal {} ({})", signal, strsignal(signal))
                                     : "the worker process ended";
    const std::string words = process_->last_words();
    if (!words.empty()) detail += ": " + words;
    return {candidate, {Cause::crash, Error(detail).what()}};
  }

  WorkerTarget target_;
  WorkerOptions options_;
  std::unique_ptr<WorkerProcess> process_;
  bool process_alive_ = true;
  bool timed_out_ = false;
  std::vector<OpenWorkload> workloads_;
  std::map<Candidate, Known> known_;
  Candidate next_ = 1;
  int64_t losses_ = 0;
};

Worker::Worker(WorkerTarget target, WorkerOptions options)
    : client_(std::make_unique<Client>(std::move(target), std::move(options))) {}
Worker::~Worker() = default;

const std::vector<OpenWorkload>& Worker::workloads() const { return client_->workloads(); }
std::variant<Candidate, Failure> Worker::compile(int workload, const std::string& policy) {
  return client_->compile(workload, policy);
}
Candidate Worker::adopt(int workload, const std::string& policy) {
  return client_->adopt(workload, policy);
}
PassesResult Worker::passes(const std::vector<Assignment>& assignments,
                            const std::vector<double>& limits_ns) {
  return client_->passes(assignments, limits_ns);
}
AloneResult Worker::alone(int workload, const std::vector<Candidate>& order, Caches caches,
                          double limit_ns) {
  return client_->alone(workload, order, caches, limit_ns);
}
std::vector<std::vector<double>> Worker::rounds_alone(const std::vector<std::string>& workloads,
                                                      int rounds) {
  return client_->rounds_alone(workloads, rounds);
}
std::vector<double> Worker::plans(const std::map<std::string, std::string>& graph_times,
                                  const std::vector<bool>& order) {
  return client_->plans(graph_times, order);
}
void Worker::replace() { client_->replace(); }
int64_t Worker::losses() const { return client_->losses(); }
int64_t Worker::process_id() const { return client_->process_id(); }

}  // namespace aoe
