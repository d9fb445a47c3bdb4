#pragma once

#include <memory>
#include <vector>

#include "expr/workload.h"

namespace aoe {

struct Tape;

// The reference: runs a workload by interpreting its expressions, strip by strip. Reductions of
// floats are accumulated in f64. Correctness comes before speed; the result does not depend on the
// number of threads. Immutable after construction, so several threads may run it at once.
class Evaluator {
 public:
  explicit Evaluator(std::shared_ptr<const Workload> workload);
  ~Evaluator();

  // `inputs` in the order of Workload::inputs; results in the order of Workload::outputs.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs, int threads) const;

  const Workload& workload() const { return *workload_; }

 private:
  std::shared_ptr<const Workload> workload_;
  std::vector<Tape> tapes_;  // one per stage
};

}  // namespace aoe
