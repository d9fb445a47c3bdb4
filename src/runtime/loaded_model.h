#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "frontend/om.h"
#include "runtime/graph_runner.h"

namespace aoe {

// An input or output of a model, as callers see it.
struct Port {
  std::string name;
  ValueType type;                        // has a shape only if all dimensions are fixed
  std::optional<std::vector<Dim>> dims;  // of tensors whose rank is known

  // "float32[batch, 3, 224, 224]"
  std::string describe() const;
};

struct LoadOptions {
  // Sizes for symbolic dimensions of inputs, by input name; -1 leaves one open.
  std::map<std::string, Shape> input_shapes;
  int threads = 0;  // 0: all cores this process may use
  // Instruction set of the kernels: "sse2", "avx2" or "avx512"; empty: the widest that works.
  // "reference": no kernels, the reference evaluator.
  std::string kernels;
  bool keep_weights = false;                            // see Engine
  std::map<std::string, std::string> graph_times = {};  // see StoredPolicies
  ImplMode impl = {};
};

// The contents of an .om file, and where its policies are from (LoadedModel::policies).
struct CompiledModel {
  OmModel model;
  std::shared_ptr<const StoredPolicies> policies;
};

// A LoadedModel is a model ready to run, on any number of threads at once. It is loaded from an
// ONNX or an .om file, which the first bytes tell apart. If symbolic dimensions are left open, each
// new combination of input shapes is prepared in its first run.
class LoadedModel {
 public:
  // `backend` is the host's; LoadOptions::kernels may narrow its vectors or replace it.
  static LoadedModel from_file(const std::filesystem::path& file, const LoadOptions& options,
                               const std::shared_ptr<const Backend>& backend);
  static LoadedModel from_bytes(std::span<const std::byte> bytes, const LoadOptions& options,
                                const std::shared_ptr<const Backend>& backend);

  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }

  // `feeds` has a value for every input, by name; only optional inputs may be left out. Returns the
  // outputs in the order of outputs().
  std::vector<Value> run(const std::map<std::string, Value>& feeds,
                         StepObserver* observer = nullptr) const;

  // Runs on the caller's memory, in the order of inputs() and outputs(). `outputs` must have the
  // types that the model gives them, and share no memory with `inputs` or each other. Inputs and
  // outputs cannot be strings or sequences.
  void run_into(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                StepObserver* observer = nullptr) const;

  // The executable if the types of all inputs are fixed, else null.
  const Executable* executable() const { return only_.get(); }

  // Returns the types of the outputs for such inputs, as far as they are known before a run:
  // without a shape if that depends on the values of elements.
  std::vector<ValueType> output_types(std::span<const TensorView> inputs) const;

  // The source of its kernels' policies. Null if there is no bank, no .om file with policies for
  // this machine and no LoadOptions::graph_times: all policies are then the default ones.
  const std::shared_ptr<const StoredPolicies>& policies() const { return policies_; }

  // Returns the contents of an .om file for the model of a file: the simplified graph and, if all
  // shapes are fixed, the policies of its kernels. Loads the model, and throws Error if that fails.
  static CompiledModel compiled(const std::filesystem::path& file, const LoadOptions& options,
                                const std::shared_ptr<const Backend>& backend);

  // Returns the graph of a file with fixed shapes, simplified: the graph that is planned and run.
  static Graph simplified(const std::filesystem::path& file, const LoadOptions& options);

 private:
  // `place` names the model in messages. `stored`, if not null, receives the model as `compiled`
  // returns it.
  static LoadedModel loaded_from(const std::function<OmModel()>& load, const LoadOptions& options,
                                 const std::shared_ptr<const Backend>& backend,
                                 const std::string& place, OmModel* stored = nullptr);
  LoadedModel(Graph graph, const Engine& engine, OmModel* stored);

  // Checks the inputs and returns the executable for their types.
  std::shared_ptr<const Executable> executable_for(std::span<const TensorView> inputs) const;

  std::vector<Port> inputs_;
  std::vector<Port> outputs_;
  std::shared_ptr<const Executable> only_;  // if the types of all inputs are fixed
  std::shared_ptr<GraphRunner> runner_;     // otherwise
  std::shared_ptr<const StoredPolicies> policies_;
};

}  // namespace aoe
