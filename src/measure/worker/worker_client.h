#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/numerics.h"
#include "base/shape.h"
#include "measure/worker/candidate.h"

namespace aoe {

// The target that a worker opens: a model file (ONNX or .om) whose inputs all have static shapes,
// or the text of a single workload.
struct WorkerTarget {
  std::filesystem::path model;
  std::string workload;  // if there is no model
  std::map<std::string, Shape> input_shapes = {};
  int threads = 1;           // 0: all cores this process may use
  std::string kernels = {};  // the widest instruction set, as in LoadOptions
  ImplMode impl = {};
};

struct WorkerOptions {
  // Path of the `aoe` executable; callers that are not `aoe` must set it.
  std::filesystem::path program = "/proc/self/exe";
  // Processors that the worker runs on; empty: those of this process.
  std::vector<int> cpus = {};
  // Address space that candidates may use in addition to that of the open model.
  int64_t memory_bytes = int64_t{4} << 30;
  // Deadline for loading the model, and for the reference of one workload.
  double open_seconds = 600;
  // Deadline for compiling one candidate.
  double compile_seconds = 30;
  // Deadline for one run of a candidate or of the model. The client polls progress in intervals of
  // the shortest deadline: by default it kills a hung worker after 5 to 10 s.
  double run_seconds = 5;
  // Reject candidates whose inner loops spill more than the baseline's, before they run.
  bool refuse_spills = true;
};

// A distinct workload of the open target. Workloads are numbered in the order of first use.
struct OpenWorkload {
  struct Node {
    std::string name;
    std::string type;  // "Conv"
  };

  std::string text;
  std::string policy;       // the baseline: the policy that the model was opened with
  int64_t uses = 0;         // steps of a pass that run it
  std::vector<Node> nodes;  // of its first use; none without a model
  double baseline_ns = 0;   // time of all its uses together, minimum of a few passes
  Numerics numerics = Numerics::strassen;  // the algorithms that its policies may use
};

// The name to display: its nodes' names, or types for nodes without a name.
std::string name_of(const OpenWorkload& workload);

struct FailedCandidate {
  CandidateId candidate = CandidateId::baseline;
  Failure failure;
};

struct Pass {
  double total_ns = 0;
  // For each workload: the time of all its uses together. NaN if its candidate failed earlier in
  // the same request, so that the baseline ran instead. Empty in a request that compares plans,
  // because their workloads differ.
  std::vector<double> workload_ns;
};

// One pass per assignment, or none if the worker was lost.
struct PassesResult {
  std::vector<Pass> passes;
  std::vector<FailedCandidate> failed;
};

enum class Caches { hot, cold };

// Time of one call for each candidate of the order, NaN for those that failed before. Empty if the
// worker was lost.
struct AloneResult {
  std::vector<double> ns;
  std::vector<FailedCandidate> failed;
};

// A Worker is a child process that compiles, checks and times candidates, so that a candidate that
// crashes, hangs, writes out of bounds or exhausts memory affects only itself.
//
// A lost process is replaced at once, and its successor adopts every candidate except the one at
// fault. Results come over a separate socket; output on its error stream is kept for messages. The
// process exits with the process that started it, however that ends, and leaves no file.
//
// Only one thread at a time may call a Worker. Several Workers may be active at once, each with a
// thread that waits for it: some compile while one measures. If a model uses all cores, the caller
// must let them take turns.
//
// Throws Error if the target cannot be opened. If the process is killed from outside while no
// candidate is active, the request is repeated up to twice. If that does not help, or if the
// process is lost for another reason that no candidate caused, `compile` throws and the timing
// requests return no times.
class Worker {
 public:
  explicit Worker(WorkerTarget target, WorkerOptions options = {});
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // As first opened, even after the process was replaced.
  const std::vector<OpenWorkload>& workloads() const;

  // Validates a policy, makes its kernel and compares it with the reference on two inputs. Only a
  // candidate that passes gets a number and can be timed.
  std::variant<CandidateId, Failure> compile(const Candidate& candidate);

  // Registers a candidate that another Worker on the same target has compiled, or a plan. Its
  // kernels are made when it is first timed.
  CandidateId adopt(const Candidate& candidate);

  // Runs the model once for each assignment, in order. All candidates of a request are in memory
  // together, each with the weights of its uses. A candidate is abandoned (Cause::time_out) if its
  // first two passes both exceed `limits_ns` of its workload, or if the first exceeds it by far;
  // without limits none is.
  //
  // If an assignment names a plan other than the baseline, the request compares plans: the model is
  // loaded anew for each plan, in the order of first use, all workloads run with the policies that
  // loading gives them, and a pass reports only its total.
  PassesResult passes(const std::vector<Assignment>& assignments,
                      const std::vector<double>& limits_ns = {});

  // Calls kernels of one workload in the given order, outside of the model. Hot: one uncounted
  // call, then the mean of a batch. Cold: one call, after other memory has passed through the
  // caches.
  AloneResult alone(int workload, const std::vector<CandidateId>& order, Caches caches,
                    double limit_ns = 0);

  // Calls workloads, which need not belong to the model, in rounds of one turn each, with the
  // policies that loading would give them. Returns for each workload the minimum time of a call in
  // each round, in ns; empty for a workload that cannot be compiled or run.
  std::vector<std::vector<double>> time_tasks(const std::vector<std::string>& workloads,
                                              int rounds);

  // Continues with a fresh process that has run nothing yet.
  void replace();

  // Number of lost processes, and the id of the current one.
  int64_t losses() const;
  int64_t process_id() const;

 private:
  class Client;
  std::unique_ptr<Client> client_;
};

}  // namespace aoe
