#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/shape.h"
#include "measure/worker/candidate.h"

namespace aoe {

// What a worker opens: a model file (ONNX or .om), all of whose inputs must have fixed shapes, or
// the text of a single workload.
struct WorkerTarget {
  std::filesystem::path model;
  std::string workload;  // if there is no model
  std::map<std::string, Shape> input_shapes = {};
  int threads = 1;           // 0: all cores this process may use
  std::string kernels = {};  // the widest instruction set, as LoadOptions has it
};

struct WorkerOptions {
  // The `aoe` command; whoever is not it says where it is.
  std::filesystem::path program = "/proc/self/exe";
  // Processors that it runs on; none: those of this process.
  std::vector<int> cpus = {};
  // What candidates may take beside what is open.
  int64_t memory_bytes = int64_t{4} << 30;
  // Until the model is loaded, and for the reference of one workload.
  double open_seconds = 600;
  // For compiling one candidate.
  double compile_seconds = 30;
  // For one run of a candidate or of the model. Someone may still be at work who is not hung: the
  // worker is killed after one to two times as long.
  double run_seconds = 5;
  // Refuse candidates whose inner loops spill more than the baseline's before they run.
  bool refuse_spills = true;
};

// One distinct workload of what is open, numbered in the order of first use.
struct OpenWorkload {
  struct Node {
    std::string name;
    std::string type;  // "Conv"
  };

  std::string text;
  std::string policy;       // by which the model runs it as it was opened: the baseline
  int64_t uses = 0;         // steps of a pass
  std::vector<Node> nodes;  // of its first use; none without a model
  double baseline_ns = 0;   // what its uses took together in the fastest of a few passes
};

// What a user knows it by: its nodes' names, or their types where they have none.
std::string name_of(const OpenWorkload& workload);

struct FailedCandidate {
  CandidateId candidate = CandidateId::baseline;
  Failure failure;
};

struct Pass {
  double total_ns = 0;
  // What the uses of each workload took together. NaN where its candidate was abandoned in an
  // earlier pass of the same request, so that the baseline ran in its place. Nothing in a request
  // that compares plans: their workloads differ.
  std::vector<double> workload_ns;
};

// As many passes as there were assignments, unless the worker was lost: then none.
struct PassesResult {
  std::vector<Pass> passes;
  std::vector<FailedCandidate> failed;
};

enum class Caches { hot, cold };

// The ns of one call for each candidate asked for, NaN for those abandoned before; or nothing.
struct AloneResult {
  std::vector<double> ns;
  std::vector<FailedCandidate> failed;
};

// A process that compiles, checks and times candidates, so that one that crashes, hangs, writes
// where it must not or eats all memory costs itself and nothing else.
//
// A lost process is replaced at once, and knows every candidate but the one at fault. Its results
// come over a separate socket; what it prints is kept for messages. It ends with the process
// that started it, however that ends, and leaves no file.
//
// One thread at a time may call a Worker; any number of Workers may be at work at once, each with a
// thread that waits for it: some compile while one measures. Where a model uses all cores, the
// caller lets them take turns.
//
// Throws Error if what is to be opened cannot be, or if the process dies again and again with no
// candidate to blame.
class Worker {
 public:
  explicit Worker(WorkerTarget target, WorkerOptions options = {});
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // As they were when it was first opened, also after the process was replaced.
  const std::vector<OpenWorkload>& workloads() const;

  // Of a policy: validates it, makes the kernel and compares it with the reference on two inputs.
  // Only what passed all that has a number, and can be timed.
  std::variant<CandidateId, Failure> compile(const Candidate& candidate);

  // A candidate that another Worker on the same target has compiled, or a plan. It is made when
  // first timed.
  CandidateId adopt(const Candidate& candidate);

  // Runs the model once for each assignment, in order. All candidates of a request are in memory
  // together, each with the weights of its uses. A candidate is abandoned (Cause::time_out)
  // once two of its passes, or one by far, took longer than `limits_ns` of its workload; without
  // limits none is.
  //
  // Where an assignment names another plan than the baseline, the request compares plans: the model
  // is loaded anew by each of them, in the order in which they run first, all workloads run by the
  // policies that loading gives them, and a pass tells its total only.
  PassesResult passes(const std::vector<Assignment>& assignments,
                      const std::vector<double>& limits_ns = {});

  // Calls kernels of one workload, one after the other as listed, outside of any model: called
  // again and again before it counts, or once, after other memory went through the caches.
  AloneResult alone(int workload, const std::vector<CandidateId>& order, Caches caches,
                    double limit_ns = 0);

  // Calls workloads, which need not be the model's, by the policies that loading would give them,
  // in turns of all of them. For each the shortest call of each round, in ns; none for one that
  // cannot be made or run.
  std::vector<std::vector<double>> rounds_alone(const std::vector<std::string>& workloads,
                                                int rounds);

  // The same on a process that has run nothing yet.
  void replace();

  // How often a process was lost, and the id of the one at work.
  int64_t losses() const;
  int64_t process_id() const;

 private:
  class Client;
  std::unique_ptr<Client> client_;
};

}  // namespace aoe
