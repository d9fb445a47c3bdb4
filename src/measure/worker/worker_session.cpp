#include "measure/worker/worker_session.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>

#include "base/memory.h"
#include "device/cores.h"
#include "expr/parse.h"
#include "measure/worker/random_tensor.h"
#include "policy/policy_text.h"
#include "policy/validate.h"

// The state of a worker, without its timing requests (session_times.cpp, session_tasks.cpp). In
// reading order:
//   open_workload, open_model   the target, its distinct workloads, and the baseline's times
//   workload_at ... fault_of    look-ups
//   grow_work, make_room        memory: one work area for all, a limit on kernels that stay loaded
//   adopt, compile              two ways to know a candidate: checked elsewhere, or checked here
//   load                        makes the kernels of a candidate that is about to be timed
//
// Invariants: before anything that may crash or hang, the page names the phase and the candidate. A
// candidate is in made_ only if it has passed its check, here or in another worker.

namespace aoe {
namespace {

using Phase = WorkerPage::Phase;

// Passes of the baseline when a model is opened. The first pays for initialization.
constexpr int kBaselinePasses = 3;

// Limit on the weights of candidates whose kernels stay in memory; beyond it, the least recently
// used kernels are dropped. It counts the original weights: prepacked ones take up to four times as
// much (Winograd's algorithm).
constexpr int64_t kMostWeightBytes = int64_t{512} << 20;

int64_t bytes_of(const std::vector<Tensor>& tensors) {
  int64_t bytes = 0;
  for (const Tensor& tensor : tensors) bytes += tensor.empty() ? 0 : tensor.bytes();
  return bytes;
}

// Calls `make`, which makes kernels of a candidate; returns its failure, if it threw.
template <typename Make>
std::optional<Failure> failure_in(Make&& make) {
  try {
    make();
    return std::nullopt;
  } catch (const Error& error) {
    return Failure{Cause::compile_error, error.what()};
  } catch (const std::bad_alloc&) {
    return Failure{Cause::out_of_memory, "its kernel needs more memory than the worker may have"};
  }
}

}  // namespace

WorkerSession::~WorkerSession() = default;

WorkerSession::WorkerSession(const WorkerTarget& target, bool refuse_spills,
                             std::vector<InjectedFault> faults, WorkerPage& page,
                             const std::shared_ptr<const Backend>& backend)
    : page_(page),
      refuse_spills_(refuse_spills),
      faults_(std::move(faults)),
      threads_(target.threads == 0 ? usable_cores() : target.threads),
      host_(backend),
      backend_(backend_for(backend, target.kernels)),
      target_(target) {
  require(backend_ != nullptr, "kernels is '{}': the reference has no policies", target.kernels);
  require(threads_ > 0, "threads is {}; 0 stands for all cores", target.threads);
  if (target.model.empty()) open_workload(target.workload);
  else open_model(target);
}

void WorkerSession::open_workload(const std::string& text) {
  SessionWorkload& open = workloads_.emplace_back();
  open.workload = std::make_shared<const Workload>(parse_workload(text));
  std::mt19937 random(0);
  for (const int id : open.workload->inputs) {
    const Workload::Value& value = open.workload->values[static_cast<size_t>(id)];
    open.weights.push_back(value.weight ? random_tensor(value.type, random) : Tensor{});
  }
  open.baseline = std::make_shared<const Kernel>(open.workload, *backend_, threads_, open.weights);
  grow_work(*open.baseline);
  OpenWorkload& described = described_.emplace_back();
  described.text = to_string(*open.workload);
  described.policy = to_string(open.baseline->policy(), *open.workload);
  described.uses = 1;
  const AloneResult times = alone(0, std::vector<CandidateId>(kBaselinePasses), Caches::hot, 0);
  described.baseline_ns = *std::min_element(times.ns.begin(), times.ns.end());
}

void WorkerSession::open_model(const WorkerTarget& target) {
  model_.emplace(LoadedModel::from_file(
      target.model, {target.input_shapes, target.threads, target.kernels, true, {}, target.impl},
      host_));
  std::mt19937 random(0);
  for (const Port& port : model_->inputs()) {
    require(port.type.kind == ValueType::Kind::tensor && port.type.is_static(),
            "input '{}' is {}: only fixed shapes are measured; fix it with --input_shape",
            port.name, port.describe());
    require(port.type.dtype != DType::string, "input '{}': strings cannot be generated at random",
            port.name);
    inputs_.emplace_back(random_tensor(port.type.tensor(), random));
  }
  const Executable& executable = *model_->executable();
  const Graph& graph = executable.graph();
  const bool known = std::all_of(graph.outputs.begin(), graph.outputs.end(), [&](int id) {
    const ValueType& type = graph.value(id).type;
    return type.kind == ValueType::Kind::tensor && type.is_static() && type.dtype != DType::string;
  });
  for (size_t i = 0; known && i < graph.outputs.size(); ++i) {
    outputs_.emplace_back(graph.value(graph.outputs[i]).type.tensor());
  }
  std::map<std::string, size_t> numbers;
  for (KernelUse& use : executable.kernel_uses()) {
    const std::string text = to_string(use.kernel->workload());
    const auto [found, fresh] = numbers.emplace(text, workloads_.size());
    grow_work(*use.kernel);
    if (fresh) {
      workloads_.push_back({std::make_shared<const Workload>(use.kernel->workload()),
                            {},
                            use.weights,
                            use.kernel,
                            nullptr,
                            {},
                            {}});
      OpenWorkload& described = described_.emplace_back();
      described.text = text;
      described.policy = to_string(use.kernel->policy(), use.kernel->workload());
      described.numerics = use.kernel->workload().numerics;
      for (const Node* node : use.nodes) {
        described.nodes.push_back({node->name, std::string(node->def->name)});
      }
    }
    ++described_[found->second].uses;
    workloads_[found->second].uses.push_back(std::move(use));
  }
  const Assignment by_baseline{std::vector<CandidateId>(workloads_.size())};
  const std::vector<Assignment> baseline(kBaselinePasses, by_baseline);
  const PassesResult times = passes(baseline, {});
  for (size_t w = 0; w < workloads_.size(); ++w) {
    described_[w].baseline_ns = std::numeric_limits<double>::infinity();
    for (const Pass& pass : times.passes) {
      described_[w].baseline_ns = std::min(described_[w].baseline_ns, pass.workload_ns[w]);
    }
  }
}

WorkerSession::SessionWorkload& WorkerSession::workload_at(int workload) {
  require(workload >= 0 && static_cast<size_t>(workload) < workloads_.size(),
          "there is no workload {}; {} are open", workload, workloads_.size());
  return workloads_[static_cast<size_t>(workload)];
}

WorkerSession::CandidateKernels& WorkerSession::made(CandidateId candidate, int workload) {
  const auto found = made_.find(candidate);
  require(found != made_.end(), "candidate {} is not known", candidate);
  require(found->second.workload == workload, "candidate {} is one of workload {}, not of {}",
          candidate, found->second.workload, workload);
  return found->second;
}

const Checker& WorkerSession::checker(SessionWorkload& of) {
  if (!of.checker) {
    page_.enter(Phase::opening);
    of.checker = std::make_unique<Checker>(of.workload, of.weights, threads_);
  }
  return *of.checker;
}

const InjectedFault* WorkerSession::fault_of(CandidateId candidate, bool timing) const {
  for (const InjectedFault& fault : faults_) {
    if (fault.candidate != candidate) continue;
    if (fault.timing == timing || fault.kind == InjectedFault::Kind::slowed) return &fault;
  }
  return nullptr;
}

void WorkerSession::grow_work(const Kernel& kernel) {
  const int64_t bytes = kernel.work_bytes();
  if (bytes <= work_bytes_) return;
  work_ = backend_->allocate(bytes);
  if (!work_) throw std::bad_alloc();
  std::memset(work_.get(), 0, static_cast<size_t>(bytes));  // page faults now, not while timing
  work_bytes_ = bytes;
}

int64_t WorkerSession::weight_bytes(const SessionWorkload& of) {
  int64_t bytes = bytes_of(of.weights);
  for (const KernelUse& use : of.uses) bytes += bytes_of(use.weights);
  return bytes;
}

void WorkerSession::make_room() {
  int64_t bytes = 0;
  std::vector<std::pair<uint64_t, CandidateKernels*>> by_age;
  for (auto& [candidate, made] : made_) {
    if (!made.in_memory()) continue;
    by_age.emplace_back(made.last_used, &made);
    bytes += weight_bytes(workload_at(made.workload));
  }
  std::sort(by_age.begin(), by_age.end());
  for (auto& [age, made] : by_age) {
    if (bytes <= kMostWeightBytes || age == requests_) return;
    bytes -= weight_bytes(workload_at(made->workload));
    made->kernels.clear();
    made->alone.reset();
  }
}

void WorkerSession::adopt(CandidateId id, const Candidate& candidate) {
  if (candidate.is_plan()) {
    plans_.insert_or_assign(id, plan_choice(candidate));
    return;
  }
  const SessionWorkload& of = workload_at(candidate.workload);
  CandidateKernels made;
  made.workload = candidate.workload;
  made.policy = parse_policy(candidate.choice, *of.workload);
  made_.insert_or_assign(id, std::move(made));
}

std::optional<Failure> WorkerSession::compile(CandidateId id, const Candidate& candidate) {
  require(!candidate.is_plan(), "plans are not compiled: they are timed in passes");
  SessionWorkload& of = workload_at(candidate.workload);
  const Checker& check = checker(of);
  page_.enter(Phase::compiling, id);
  CandidateKernels made;
  made.workload = candidate.workload;
  try {
    made.policy = parse_policy(candidate.choice, *of.workload);
  } catch (const Error& error) {
    return Failure{Cause::illegal_policy, error.what()};
  }
  if (const auto fault = validate(made.policy, *of.workload, backend_->device())) {
    return Failure{Cause::illegal_policy, *fault};
  }
  const auto run = [&](const Kernel& kernel, auto inputs, auto outputs, std::byte* work) {
    run_with_fault(fault_of(id, false), kernel, inputs, outputs, work);
    // The comparison may evaluate magnitudes of terms, which takes as long as the reference.
    page_.enter(Phase::opening, id);
  };
  for (size_t input = 0; input < Checker::kInputs; ++input) {
    std::unique_ptr<Kernel> kernel;
    page_.enter(Phase::compiling, id);
    auto failure = failure_in([&] {
      kernel = std::make_unique<Kernel>(of.workload, made.policy, *backend_, threads_,
                                        check.weights(input));
    });
    if (failure) return failure;
    if (refuse_spills_ && kernel->spills() > of.baseline->spills()) {
      return Failure{Cause::spills, fmt::format("{} in inner loops", kernel->spills())};
    }
    page_.enter(Phase::checking, id);
    try {
      failure = check.failure_of(*kernel, input, run);
    } catch (const Error& error) {
      failure = Failure{Cause::wrong_result, error.what()};
    } catch (const std::bad_alloc&) {
      failure = Failure{Cause::out_of_memory, "it asks for more than the worker may have"};
    }
    if (failure) return failure;
  }
  made_.insert_or_assign(id, std::move(made));
  return std::nullopt;
}

std::optional<Failure> WorkerSession::load(CandidateId candidate, int workload, bool alone) {
  SessionWorkload& of = workload_at(workload);
  if (candidate == CandidateId::baseline) return std::nullopt;
  CandidateKernels& candidate_made = made(candidate, workload);
  candidate_made.last_used = requests_;
  make_room();
  const auto make = [&](const std::vector<Tensor>& weights) {
    page_.enter(Phase::compiling, candidate);
    auto kernel =
        std::make_unique<Kernel>(of.workload, candidate_made.policy, *backend_, threads_, weights);
    grow_work(*kernel);
    return kernel;
  };
  return failure_in([&] {
    if (alone) {
      if (!candidate_made.alone) candidate_made.alone = make(of.weights);
      return;
    }
    if (!candidate_made.kernels.empty()) return;
    std::vector<std::unique_ptr<Kernel>> kernels;
    for (const KernelUse& use : of.uses) kernels.push_back(make(use.weights));
    candidate_made.kernels = std::move(kernels);
  });
}

}  // namespace aoe
