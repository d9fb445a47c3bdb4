#pragma once

#include <functional>
#include <memory>

#include "tune/format_machine.h"
#include "tune/journal.h"

namespace aoe {

// A machine whose answers are kept in a journal, and come from there as long as it has any. The
// machine itself is made when the journal knows no more.
class JournaledFormats : public FormatMachine {
 public:
  JournaledFormats(Journal& journal, std::function<std::unique_ptr<FormatMachine>()> make)
      : journal_(journal), make_(std::move(make)) {}

  FormatsOpened open() override;
  RoundsAlone rounds_alone(const std::vector<std::string>& workloads) override;
  PlanPasses plans(const std::map<std::string, std::string>& graph_times,
                   const std::vector<bool>& order) override;
  void decide(const std::string& question, const std::string& decision) override {
    journal_.decide(question, decision);
  }

 private:
  FormatMachine& machine();

  Journal& journal_;
  std::function<std::unique_ptr<FormatMachine>()> make_;
  std::unique_ptr<FormatMachine> machine_;
};

}  // namespace aoe
