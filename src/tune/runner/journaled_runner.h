#pragma once

#include <functional>
#include <memory>

#include "tune/journal/journal.h"
#include "tune/runner/runner.h"

namespace aoe {

// A JournaledRunner records the answers of another runner in a journal, and replays them while the
// journal has entries. The other runner is made by `make` at the first request after that.
class JournaledRunner : public Runner {
 public:
  JournaledRunner(Journal& journal, std::function<std::unique_ptr<Runner>()> make)
      : journal_(journal), make_(std::move(make)) {}

  OpenedModel open() override;
  Answer ask(const Request& request) override;
  void record_decision(const std::string& question, const std::string& decision) override {
    journal_.record_decision(question, decision);
  }

 private:
  // Makes the runner on first use. Fails if its model or policies differ from the journal's.
  Runner& runner();

  Journal& journal_;
  std::function<std::unique_ptr<Runner>()> make_;
  std::unique_ptr<Runner> runner_;
  OpenedModel opened_;
  double before_s_ = 0;  // time that the job had used when the runner was made
  double latest_s_ = 0;  // time used according to the latest answer
};

}  // namespace aoe
