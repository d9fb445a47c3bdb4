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

// What a caller must give to, or gets from, a model.
struct Port {
  std::string name;
  ValueType type;                        // shape only when all dimensions are fixed
  std::optional<std::vector<Dim>> dims;  // tensors whose rank is known

  // "float32[batch, 3, 224, 224]"
  std::string describe() const;
};

struct LoadOptions {
  // Sizes for symbolic dimensions of inputs, by input name; -1 leaves one open.
  std::map<std::string, Shape> input_shapes;
  int threads = 0;  // 0: all cores this process may use
  // For which instruction set kernels are made, "sse2", "avx2" or "avx512", empty: the widest that
  // works. "reference": no kernels, the reference evaluator.
  std::string kernels;
  bool keep_weights = false;                            // as Engine has it
  std::map<std::string, std::string> graph_times = {};  // as StoredPolicies has them
};

// A model as an .om file is to hold it, and the policies that it was compiled by, as
// LoadedModel::policies().
struct CompiledModel {
  OmModel model;
  std::shared_ptr<const StoredPolicies> policies;
};

// A model ready to run, on any number of threads at once. It comes from an ONNX or an .om file: the
// first bytes tell which. Where symbolic dimensions are left open, each new combination of input
// shapes is prepared when it first comes.
class LoadedModel {
 public:
  // `backend`: the host's, from which LoadOptions::kernels may take narrower vectors.
  static LoadedModel from_file(const std::filesystem::path& file, const LoadOptions& options,
                               const std::shared_ptr<const Backend>& backend);
  static LoadedModel from_bytes(std::span<const std::byte> bytes, const LoadOptions& options,
                                const std::shared_ptr<const Backend>& backend);

  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }

  // By input name; every input must be there, and nothing else. Outputs in the order of outputs().
  std::vector<Value> run(const std::map<std::string, Value>& feeds, Watch* watch = nullptr) const;

  // The same on the caller's memory, in the order of inputs() and outputs(). `outputs` must have
  // the types that the model gives them, and share nothing with `inputs` or each other. Strings and
  // sequences have no place in such memory.
  void run_into(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                Watch* watch = nullptr) const;

  // What runs it where the types of all inputs are fixed; else nothing.
  const Executable* executable() const { return only_.get(); }

  // What can be said of the outputs before a run on such inputs: with a shape unless that depends
  // on what the elements are.
  std::vector<ValueType> output_types(std::span<const TensorView> inputs) const;

  // Where its kernels' policies have come from so far; null where there is neither a bank nor an
  // .om file with policies, so that all are the default's.
  const std::shared_ptr<const StoredPolicies>& policies() const { return policies_; }

  // The model of a file as an .om file is to hold it: simplified, and if all shapes are fixed with
  // the policies of its kernels. It is loaded for that, so what is wrong with it shows.
  static CompiledModel compiled(const std::filesystem::path& file, const LoadOptions& options,
                                const std::shared_ptr<const Backend>& backend);

  // The graph alone, with its shapes fixed and simplified: what is planned and run.
  static Graph simplified(const std::filesystem::path& file, const LoadOptions& options);

 private:
  // `place` names the model in messages. If `stored` is there, it is made the model as compiled().
  static LoadedModel made_of(const std::function<OmModel()>& load, const LoadOptions& options,
                             const std::shared_ptr<const Backend>& backend,
                             const std::string& place, OmModel* stored = nullptr);
  LoadedModel(Graph graph, const Engine& engine, OmModel* stored);

  // What runs on such inputs, once they have been checked.
  std::shared_ptr<const Executable> executable_for(std::span<const TensorView> inputs) const;

  std::vector<Port> inputs_;
  std::vector<Port> outputs_;
  std::shared_ptr<const Executable> only_;  // where the inputs' types are all fixed
  std::shared_ptr<GraphRunner> runner_;     // where they are not
  std::shared_ptr<const StoredPolicies> policies_;
};

}  // namespace aoe
