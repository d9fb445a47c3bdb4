#pragma once

#include <memory>
#include <vector>

#include "device/device.h"
#include "expr/evaluate.h"
#include "expr/workload.h"

namespace aoe {

// A workload as machine code. Immutable after construction, so several threads may run it at once.
class Kernel {
 public:
  // `weights` has a tensor for each input of the workload that is a weight, and empty ones for the
  // others.
  Kernel(std::shared_ptr<const Workload> workload, const Device& device,
         std::vector<Tensor> weights = {});
  ~Kernel();

  // `inputs` as the workload lists them; those that are weights may be empty.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs, int threads) const;

  // The loop nests, for people.
  std::string loops_text() const;

  // One part of the work, done after those before it.
  class Step;

 private:
  std::shared_ptr<const Workload> workload_;
  Workload scheduled_;  // the same computation, as the steps do it
  std::vector<std::unique_ptr<Step>> steps_;
  std::vector<Tensor> weights_;
};

}  // namespace aoe
