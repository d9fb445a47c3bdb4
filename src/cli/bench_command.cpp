#include <fmt/format.h>

#include "cli/bench_report.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/model_options.h"
#include "cli/progress.h"
#include "codegen/cpu_backend.h"
#include "device/cores.h"
#include "measure/host/peak_memory.h"

namespace aoe {
namespace {

struct BenchOptions : ModelRun {  // its seed also determines the order of turns
  std::string compare;
  double seconds = 5;
  bool profile = false;
  bool json = false;
};

// A model with its inputs and outputs, ready to run any number of times.
class BenchedModel {
 public:
  BenchedModel(const std::string& file, const BenchOptions& options)
      : place_(fmt::format("model '{}'", file)),
        model_(LoadedModel::from_file(file, load_options(options), host_backend())) {
    try {
      feeds_ = inputs_for(model_, options.inputs, options.seed);
      results_ = model_.run(feeds_);
      note_views();
      run();
    } catch (const Error& error) {
      throw error.within(place_);
    }
  }
  BenchedModel(const BenchedModel&) = delete;  // its views point to its values
  BenchedModel& operator=(const BenchedModel&) = delete;

  void run(StepObserver* observer = nullptr) const {
    if (outputs_.empty()) model_.run(feeds_, observer);
    else model_.run_into(inputs_, outputs_, observer);
  }

  WatchedRun watched() const {
    return [this](StepObserver* observer) { run(observer); };
  }

  const std::shared_ptr<const StoredPolicies>& policies() const { return model_.policies(); }
  std::map<Numerics, int> algorithms() const { return algorithms_of(model_); }

  // The difference of the outputs. Nothing unless both models have outputs of the same names and
  // types, all of them tensors of numbers.
  std::optional<Difference> difference_from(const BenchedModel& other) const {
    std::vector<Tensor> results;
    std::vector<Tensor> others;
    if (results_.size() != other.results_.size()) return std::nullopt;
    for (size_t i = 0; i < results_.size(); ++i) {
      const ValueType type = results_[i].type();
      const bool same = model_.outputs()[i].name == other.model_.outputs()[i].name &&
                        type == other.results_[i].type();
      if (!same || !type.is_static() || type.dtype == DType::string) return std::nullopt;
      results.push_back(results_[i].tensor());
      others.push_back(other.results_[i].tensor());
    }
    return difference_of(results, others);
  }

 private:
  static TensorView view_of(const Value& value) {
    const Tensor& tensor = value.tensor();
    return {tensor.dtype(), tensor.shape(), const_cast<std::byte*>(tensor.raw())};
  }

  // Prepares runs on preallocated inputs and outputs, if all of them are tensors of numbers with
  // known shapes. Otherwise every run allocates its results.
  void note_views() {
    const auto is_view = [](const Value& value) {
      return value.is_tensor() && value.tensor().dtype() != DType::string;
    };
    std::vector<TensorView> inputs;
    for (const Port& port : model_.inputs()) {
      const auto feed = feeds_.find(port.name);
      if (port.type.kind != ValueType::Kind::tensor || !is_view(feed->second)) return;
      inputs.push_back(view_of(feed->second));
    }
    const std::vector<ValueType> types = model_.output_types(inputs);
    const bool known =
        std::all_of(types.begin(), types.end(), [](const auto& type) { return type.is_static(); });
    if (!known || !std::all_of(results_.begin(), results_.end(), is_view)) return;
    for (Value& result : results_) {
      result = result.tensor().copied();  // it may share memory with a constant or an input
      outputs_.push_back(view_of(result));
    }
    inputs_ = std::move(inputs);
  }

  std::string place_;
  LoadedModel model_;
  std::map<std::string, Value> feeds_;
  std::vector<Value> results_;
  std::vector<TensorView> inputs_;
  std::vector<TensorView> outputs_;  // empty: runs use feeds_ and allocate their results
};

BenchReport measured(const BenchOptions& options) {
  constexpr double kLongest = 3600;
  require(options.seconds > 0 && options.seconds <= kLongest,
          "--seconds is {}; a number above 0, at most {}, is expected", options.seconds, kLongest);
  Progress progress;
  BenchReport report;
  const bool reference = options.kernels == "reference";
  const auto backend = backend_for(host_backend(), reference ? "" : options.kernels);
  const Device& device = backend->device();
  report.threads = options.threads > 0 ? options.threads : usable_cores();
  report.soc_version = device.soc_version();
  report.kernels = reference || device.features.empty() ? "reference" : device.widest_vectors();

  progress.begin("loading " + options.model);
  const BenchedModel model(options.model, options);
  report.peak_memory_bytes = peak_memory_bytes();
  const BenchedModel again(options.model, options);
  std::optional<BenchedModel> other;
  if (!options.compare.empty()) {
    progress.begin("loading " + options.compare);
    other.emplace(options.compare, options);
  }

  progress.begin("measuring the machine");
  report.rates = measure_rates(device, std::min(report.threads, device.cores));
  progress.begin("measuring");
  std::vector<std::function<void()>> participants{[&] { model.run(); }, [&] { again.run(); }};
  if (other) participants.emplace_back([&] { other->run(); });
  std::vector<ParticipantTimes> turns =
      measure_rounds(participants, {.seconds = options.seconds,
                                    .seed = options.seed,
                                    .progress = [&](double share) { progress.update(share); }});
  report.self = ratio_of(turns[1].medians_ns, turns[0].medians_ns);
  if (other) {
    const Interval ratio = ratio_of(turns[2].medians_ns, turns[0].medians_ns);
    report.comparison = {{options.compare, std::move(turns[2]), operations_in(other->watched()),
                          other->policies(), other->algorithms()},
                         ratio,
                         other->difference_from(model)};
  }
  report.model = {options.model, std::move(turns[0]), operations_in(model.watched()),
                  model.policies(), model.algorithms()};
  if (options.profile) {
    progress.begin("profiling");
    report.profile = profile_of(model.watched(), options.seconds);
  }
  return report;
}

}  // namespace

void add_bench_command(CLI::App& app) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand("bench", "Measure how long a model takes, and where");
  add_options(*command, *options);
  command->add_option("--compare", options->compare, "Another model, measured in turns with it");
  command->add_flag("--profile", options->profile, "Show where the time goes, step by step");
  command->add_flag("--json", options->json, "Print JSON");
  command->add_option("--seconds", options->seconds, "How long to measure");
  command->callback([options] {
    const BenchReport report = measured(*options);
    fmt::print("{}", options->json ? json_of(report) : text_of(report));
  });
}

}  // namespace aoe
