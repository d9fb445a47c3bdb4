#include "tune/journaled_formats.h"

#include <nlohmann/json.hpp>

namespace aoe {
namespace {

using Json = nlohmann::json;

}  // namespace

FormatMachine& JournaledFormats::machine() {
  if (!machine_) machine_ = make_();
  return *machine_;
}

FormatsOpened JournaledFormats::open() {
  const Json opened = Json::parse(journal_.ask(R"({"formats":"open"})", [&] {
    const FormatsOpened fresh = machine().open();
    return Json{{"pass_ns", fresh.pass_ns},
                {"margin", fresh.margin},
                {"noise_floor", fresh.noise_floor},
                {"seconds", fresh.seconds}}
        .dump();
  }));
  return {opened.at("pass_ns"), opened.at("margin"), opened.at("noise_floor"),
          opened.at("seconds")};
}

RoundsAlone JournaledFormats::rounds_alone(const std::vector<std::string>& workloads) {
  const Json request{{"formats", "rounds_alone"}, {"workloads", workloads}};
  const Json done = Json::parse(journal_.ask(request.dump(), [&] {
    const RoundsAlone fresh = machine().rounds_alone(workloads);
    return Json{{"ns", fresh.ns}, {"seconds", fresh.seconds}}.dump();
  }));
  return {done.at("ns"), done.at("seconds")};
}

PlanPasses JournaledFormats::plans(const std::map<std::string, std::string>& graph_times,
                                   const std::vector<bool>& order) {
  const Json request{{"formats", "plans"}, {"graph_times", graph_times}, {"order", order}};
  const Json done = Json::parse(journal_.ask(request.dump(), [&] {
    const PlanPasses fresh = machine().plans(graph_times, order);
    return Json{{"ns", fresh.ns}, {"seconds", fresh.seconds}}.dump();
  }));
  return {done.at("ns"), done.at("seconds")};
}

}  // namespace aoe
