#pragma once

#include <functional>
#include <memory>

#include "tune/journal/journal.h"
#include "tune/machine/machine.h"

namespace aoe {

// A machine whose answers are kept in a journal, and come from there as long as it has any. The
// machine itself is made when the journal knows no more.
class JournaledMachine : public Machine {
 public:
  JournaledMachine(Journal& journal, std::function<std::unique_ptr<Machine>()> make)
      : journal_(journal), make_(std::move(make)) {}

  Opened open() override;
  Answer ask(const Request& request) override;
  void record_decision(const std::string& question, const std::string& decision) override {
    journal_.record_decision(question, decision);
  }

 private:
  // Fails if what it opens is not what the journal is about.
  Machine& machine();

  Journal& journal_;
  std::function<std::unique_ptr<Machine>()> make_;
  std::unique_ptr<Machine> machine_;
  Opened opened_;
  double before_s_ = 0;  // that the job had taken when the machine was made
  double latest_s_ = 0;
};

}  // namespace aoe
