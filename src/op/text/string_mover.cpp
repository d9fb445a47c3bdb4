#include "op/text/string_mover.h"

#include "expr/evaluate.h"

namespace aoe {

HostKernel string_mover(Workload workload, std::vector<int> operands) {
  const auto evaluator =
      std::make_shared<const Evaluator>(std::make_shared<const Workload>(std::move(workload)));
  return [evaluator, operands = std::move(operands)](const HostCall& call) {
    std::vector<const std::string*> strings{nullptr};
    std::vector<Tensor> inputs;
    for (const int operand : operands) {
      const Tensor& given = call.inputs[static_cast<size_t>(operand)].tensor();
      if (given.dtype() != DType::string) {
        inputs.push_back(given);
        continue;
      }
      Tensor numbers(DType::i64, given.shape());
      for (int64_t i = 0; i < given.count(); ++i) {
        numbers.data<int64_t>()[i] = std::ssize(strings);
        strings.push_back(given.data<std::string>() + i);
      }
      inputs.push_back(std::move(numbers));
    }
    std::vector<Value> outputs;
    for (const Tensor& numbers : evaluator->run(inputs, 1)) {
      Tensor moved(DType::string, numbers.shape());
      for (int64_t i = 0; i < moved.count(); ++i) {
        const int64_t number = numbers.data<int64_t>()[i];
        if (number > 0) moved.data<std::string>()[i] = *strings[static_cast<size_t>(number)];
      }
      outputs.emplace_back(std::move(moved));
    }
    return outputs;
  };
}

}  // namespace aoe
