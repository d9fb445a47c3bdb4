#include "tune/runner/journaled_runner.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "measure/worker/worker_messages.h"

// In reading order: requests and answers as JSON, each type with its inverse where one is read
// back; runner, which makes the recorded runner when the journal has no more entries; open and ask.
//
// Invariants: a new answer is parsed from the text that the journal stores, like a replayed one, so
// that both are equal to the last bit. elapsed_s goes on from the last recorded answer: the runner
// of a resumed job counts from 0, and before_s_ is added.

namespace aoe {
namespace {

Json to_json(const OpenedModel& opened) {
  return {{"workloads", to_json(opened.workloads)},
          {"least_ns", opened.least_ns},
          {"rates", {opened.rates.fma_gflops, opened.rates.copy_gbps}},
          {"margin", opened.margin},
          {"noise_floor", opened.noise_floor},
          {"elapsed_s", opened.elapsed_s}};
}

OpenedModel opened_of(const Json& json) {
  OpenedModel opened;
  opened.workloads = workloads_of(json.at("workloads"));
  json.at("least_ns").get_to(opened.least_ns);
  json.at("rates").at(0).get_to(opened.rates.fma_gflops);
  json.at("rates").at(1).get_to(opened.rates.copy_gbps);
  json.at("margin").get_to(opened.margin);
  json.at("noise_floor").get_to(opened.noise_floor);
  json.at("elapsed_s").get_to(opened.elapsed_s);
  return opened;
}

Json to_json(const std::vector<Candidate>& candidates) {
  Json list = Json::array();
  for (const Candidate& one : candidates) list.push_back({one.workload, one.choice});
  return list;
}

Json to_json(const Request& request) {
  return {{"compile", to_json(request.compile)},
          {"fresh", request.measure.fresh},
          {"candidates", to_json(request.measure.candidates)},
          {"passes", to_json(request.measure.passes)},
          {"limits_ns", request.measure.limits_ns},
          {"alone", request.alone}};
}

Json to_json(const Answer& done) {
  Json compiled = Json::array();
  for (const auto& failure : done.compiled) {
    compiled.push_back(failure ? Json{name(failure->cause), failure->detail} : Json());
  }
  return {{"compiled", std::move(compiled)},
          {"measured", to_json(done.measured)},
          {"alone_ns", done.alone_ns},
          {"elapsed_s", done.elapsed_s}};
}

Answer answer_of(const Json& json) {
  Answer done;
  for (const Json& failure : json.at("compiled")) {
    auto& one = done.compiled.emplace_back();
    if (failure.is_null()) continue;
    const auto cause = cause_named(failure.at(0).get<std::string>());
    require(cause.has_value(), "the journal names an unknown cause, '{}'",
            failure.at(0).get<std::string>());
    one = Failure{*cause, failure.at(1).get<std::string>()};
  }
  done.measured = passes_of(json.at("measured"));
  json.at("alone_ns").get_to(done.alone_ns);
  json.at("elapsed_s").get_to(done.elapsed_s);
  return done;
}

// Whatever is wrong with a recorded answer is an Error: the journal may come from anywhere.
template <typename Result>
Result parsed(const std::string& text, Result (*parse)(const Json&)) {
  try {
    return parse(Json::parse(text));
  } catch (const Json::exception& error) {
    fail("an entry of the journal is not what this job writes: {}", error.what());
  }
}

// Fails unless the answer has a result for each part of the request: jobs index by these.
void require_complete(const Answer& done, const Request& request, size_t workloads) {
  const std::vector<Pass>& passes = done.measured.passes;
  const auto is_of_operator = [](const Candidate& one) { return one.workload >= 0; };
  const bool of_operators = std::ranges::any_of(request.measure.candidates, is_of_operator);
  const bool complete = done.compiled.size() == request.compile.size() &&
                        done.alone_ns.size() == request.alone.size() &&
                        (passes.empty() || passes.size() == request.measure.passes.size()) &&
                        (!of_operators || std::ranges::all_of(passes, [&](const Pass& pass) {
                          return pass.workload_ns.size() == workloads;
                        }));
  require(complete, "an answer in the journal does not fit its request: the journal is damaged");
}

}  // namespace

Runner& JournaledRunner::runner() {
  if (runner_) return *runner_;
  runner_ = make_();
  before_s_ = latest_s_;
  if (opened_.workloads.empty()) return *runner_;
  const OpenedModel now = runner_->open();
  bool same = now.workloads.size() == opened_.workloads.size();
  for (size_t i = 0; same && i < now.workloads.size(); ++i) {
    same = now.workloads[i].text == opened_.workloads[i].text &&
           now.workloads[i].policy == opened_.workloads[i].policy;
  }
  require(same,
          "the model, or what the bank has for it, is not what it was when the job began: start a "
          "new one");
  return *runner_;
}

OpenedModel JournaledRunner::open() {
  const std::string answer = journal_.ask("open", [&] {
    OpenedModel opened = runner().open();
    opened.elapsed_s += before_s_;
    return to_json(opened).dump();
  });
  opened_ = parsed(answer, opened_of);
  latest_s_ = opened_.elapsed_s;
  return opened_;
}

Answer JournaledRunner::ask(const Request& request) {
  const std::string answer = journal_.ask(to_json(request).dump(), [&] {
    Answer fresh = runner().ask(request);
    fresh.elapsed_s += before_s_;
    return to_json(fresh).dump();
  });
  Answer done = parsed(answer, answer_of);
  require_complete(done, request, opened_.workloads.size());
  latest_s_ = done.elapsed_s;
  return done;
}

}  // namespace aoe
