#include "tune/tune.h"

#include <fmt/format.h>

#include "bank/bank.h"
#include "base/error.h"
#include "base/notice.h"
#include "runtime/loaded_model.h"
#include "tune/operators.h"

namespace aoe {

int tune(const TuneOptions& options, const OutcomeListener& changed) {
  const LoadedModel model =
      LoadedModel::from_file(options.model, {options.input_shapes, options.threads, ""});
  require(model.executable() != nullptr,
          "model '{}': dimensions of its inputs are open, and only what is fixed can be tuned: fix "
          "them by --input_shape",
          options.model.string());
  const Target target = target_of(host_device(), options.threads);
  const Bank bank = Bank::for_writing(options.banks.custom, target.soc_version);

  const std::vector<Operator> operators = operators_of(*model.executable());
  std::vector<std::string> texts;
  for (const Operator& one : operators) texts.push_back(one.text);
  const std::vector<Found> found = bank.find(texts, target);
  TuningOutcome outcome{.name = options.model.stem().string(), .has_operators = !operators.empty()};
  for (size_t i = 0; i < operators.size(); ++i) {
    for (const std::string& problem : found[i].problems) notice(problem);
    const bool in_bank = found[i].entry.has_value();
    const bool waits = is_to_be_tuned(in_bank, options.repeat_tune);
    if (!waits) outcome.counts.count(tuned(in_bank, options.repeat_tune, false));
    fmt::print("{}  {}  {}\n", key_text(operators[i].text), waits ? "to be tuned" : "in the bank",
               operators[i].name);
  }
  changed(outcome);
  fail("tuning itself is not built yet");
}

}  // namespace aoe
