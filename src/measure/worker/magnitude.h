#pragma once

#include <memory>
#include <vector>

#include "expr/evaluate.h"

namespace aoe {

// A workload that computes, for each element of the outputs of another one, the sum of the
// magnitudes of its terms: |x| |w| + |b| for x w - b. Rounding errors are relative to these sums
// and not to the results, which may cancel.
struct MagnitudeWorkload {
  // Its inputs are those of the original, then absolute values of some of them.
  std::shared_ptr<const Workload> workload;
  std::vector<size_t> absolute;  // the inputs of the original that the additional ones are made of
  // For each output of the original: position among the outputs here, or -1 if the magnitudes are
  // not known.
  std::vector<int> outputs;
};
MagnitudeWorkload magnitude_workload(const Workload& original);

// Evaluates the magnitudes of a workload for given inputs, in about the time of the reference.
class Magnitudes {
 public:
  explicit Magnitudes(const Workload& workload);

  // For each output of the workload a tensor of its type, or an empty one if the magnitudes are not
  // known. Elements that overflow are not finite.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs, int threads) const;

 private:
  MagnitudeWorkload derived_;
  Evaluator evaluator_;
};

}  // namespace aoe
