#include <algorithm>
#include <array>
#include <optional>
#include <random>

#include "base/parallel.h"
#include "expr/parse.h"
#include "measure/clock.h"
#include "measure/random_tensor.h"
#include "measure/subject.h"

// What layouts are chosen by: workloads that may be none of the model's, and the model with other
// layouts than it was opened with.

namespace aoe {
namespace {

using Phase = WorkerPage::Phase;

// A call that is counted comes right behind one that is not, and one of several is the shortest:
// as many as fit, since calls that take long vary less.
constexpr double kTurnNs = 3e6;
constexpr double kMostCalls = 100;

// A workload that is ready to be called.
struct Callable {
  std::shared_ptr<const Kernel> kernel;
  std::vector<Tensor> inputs, outputs;
  std::vector<const void*> from;
  std::vector<void*> to;
};

Callable callable(const std::string& text, const StoredPolicies* policies, const Device& device,
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
  made.kernel = policies != nullptr
                    ? policies->kernel(workload, device, std::move(weights))
                    : std::make_shared<const Kernel>(workload, device, threads, std::move(weights));
  return made;
}

}  // namespace

std::vector<std::vector<double>> Subject::rounds_alone(const std::vector<std::string>& workloads,
                                                       int rounds) {
  std::vector<std::optional<Callable>> ready;
  for (const std::string& text : workloads) {
    page_.enter(Phase::compiling);
    auto& one = ready.emplace_back();
    try {
      one = callable(text, model_ ? model_->policies().get() : nullptr, device_, threads_);
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
        const double begin = steady_ns();
        ready[i]->kernel->run_on(ready[i]->from, ready[i]->to, work);
        return std::max(steady_ns() - begin, 1.0);
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

std::vector<double> Subject::plans(const std::map<std::string, std::string>& graph_times,
                                   const std::vector<bool>& order) {
  require(model_.has_value(), "a single workload has no plans");
  require(!order.empty(), "no passes are asked for");
  page_.enter(Phase::opening);
  // Both anew, who runs first first: where memory lies depends on who was loaded before whom.
  std::array<std::optional<LoadedModel>, 2> models;
  for (const bool rival : {order[0], !order[0]}) {
    LoadOptions options{target_.input_shapes, target_.threads, target_.kernels};
    if (rival) options.graph_times = graph_times;
    models[rival].emplace(LoadedModel::from_file(target_.model, options));
  }
  std::vector<double> ns;
  for (const bool rival : order) {
    page_.enter(Phase::timing);
    const double begin = steady_ns();
    run_model(*models[rival], nullptr);
    ns.push_back(steady_ns() - begin);
  }
  return ns;
}

}  // namespace aoe
