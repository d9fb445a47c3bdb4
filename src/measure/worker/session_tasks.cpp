#include <algorithm>
#include <optional>
#include <random>

#include "base/clock.h"
#include "base/parallel.h"
#include "expr/parse.h"
#include "measure/worker/random_tensor.h"
#include "measure/worker/worker_session.h"

// Times workloads alone, for the choice of layouts. They need not belong to the model: a task whose
// values have another layout is another workload.

namespace aoe {
namespace {

using Phase = WorkerPage::Phase;

// A turn is a first call, which refills the caches, and then as many calls as fit into kTurnNs, but
// at least one: longer calls vary less. The minimum of all calls counts, the first one included.
constexpr double kTurnNs = 3e6;
constexpr double kMostCalls = 100;

// A workload with its kernel and buffers, ready to be called.
struct Callable {
  std::shared_ptr<const Kernel> kernel;
  std::vector<Tensor> inputs, outputs;
  std::vector<const void*> from;
  std::vector<void*> to;
};

Callable callable(const std::string& text, const StoredPolicies* policies, const Backend& backend,
                  int threads) {
  const auto workload = std::make_shared<const Workload>(parse_workload(text));
  Callable made;
  std::mt19937 random(0);
  std::vector<Tensor> weights;
  for (const int id : workload->inputs) {
    const Workload::Value& value = workload->values[static_cast<size_t>(id)];
    Tensor tensor = random_tensor(value.type, random);
    weights.push_back(value.weight ? tensor : Tensor{});
    made.inputs.push_back(value.weight ? Tensor{} : std::move(tensor));
    made.from.push_back(made.inputs.back().raw());
  }
  for (const int id : workload->outputs) {
    made.outputs.emplace_back(workload->values[static_cast<size_t>(id)].type);
    made.to.push_back(made.outputs.back().raw());
  }
  made.kernel = policies != nullptr ? policies->kernel(workload, backend, std::move(weights))
                                    : std::make_shared<const Kernel>(workload, backend, threads,
                                                                     std::move(weights));
  return made;
}

}  // namespace

std::vector<std::vector<double>> WorkerSession::time_tasks(
    const std::vector<std::string>& workloads, int rounds) {
  std::vector<std::optional<Callable>> ready;
  for (const std::string& text : workloads) {
    page_.enter(Phase::compiling);
    auto& one = ready.emplace_back();
    try {
      one = callable(text, model_ ? model_->policies().get() : nullptr, *backend_, threads_);
      grow_work(*one->kernel);
    } catch (const Error&) {
      one.reset();
    }
  }
  auto* const work = static_cast<std::byte*>(work_.get());
  std::vector<std::vector<double>> ns(workloads.size());
  const HelpersAwake helpers(threads_);
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < ready.size(); ++i) {
      if (!ready[i]) continue;
      const auto call_ns = [&] {
        page_.enter(Phase::timing);
        const double ns = backend_->time_ns(
            [&] { ready[i]->kernel->run_on(ready[i]->from, ready[i]->to, work); });
        return std::max(ns, 1.0);
      };
      try {
        double least = call_ns();
        const double calls = std::clamp(kTurnNs / least, 1.0, kMostCalls);
        for (int call = 0; call < static_cast<int>(calls); ++call) {
          least = std::min(least, call_ns());
        }
        ns[i].push_back(least);
      } catch (const Error&) {
        ns[i].clear();
        ready[i].reset();
      }
    }
  }
  return ns;
}

}  // namespace aoe
