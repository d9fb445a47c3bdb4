#include "report/result_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "tests/cpp/temporary_folder.h"

namespace aoe {
namespace {

using Json = nlohmann::json;
using State = TuningOutcome::State;

OperatorOutcome softmax() {
  return {.name = "softmax",
          .types = {"Softmax"},
          .mode = TuningMode::format,
          .tuned = Tuned::add,
          .gain = {.before_ns = 134000,
                   .after_ns = 99000,
                   .speedup_low = 1.31,
                   .speedup_high = 1.39,
                   .noise_floor = 1.012,
                   .samples = 64},
          .margin = 0.023,
          .measurements = {"j:1", "j:2"},
          .policy_before = "loops outer=1 [r:8x4]",
          .policy_after = "loops outer=1 [r:16x4]"};
}

// The vendor's sample of a model file, with its numbers.
TuningOutcome sample() {
  OperatorOutcome convolution{.name = "Conv_125",
                              .types = {"Conv", "Relu"},
                              .mode = TuningMode::schedule,
                              .tuned = Tuned::update,
                              .gain = {.before_ns = 72055, .after_ns = 72046}};
  return {.name = "resnet50",
          .state = State::successful,
          .seconds = 1494.4,
          .baseline_ns = 113588725.4,
          .model = Gain{.before_ns = 113588725.4, .after_ns = 113236731.1},
          .margin = 0.023,
          .operators = {softmax(), convolution},
          .counts = {.add = 19, .unsatisfied = 2}};
}

// Removes the fields that the vendor's format does not have.
Json without_evidence(Json result) {
  for (Json& part : result) {
    if (!part.contains("OPAT")) continue;
    part["OPAT"].erase("evidence");
    for (Json& one : part["OPAT"]["repo_modified_operators"]) one.erase("evidence");
  }
  return result;
}

TEST(ResultFileTest, ListsLayoutsBeforeTheOperators) {
  TuningOutcome outcome = sample();
  outcome.layouts = OperatorOutcome{.name = "layouts of resnet50",
                                    .types = {"Conv"},
                                    .mode = TuningMode::format,
                                    .gain = {.before_ns = 3000, .after_ns = 2000}};
  const Json opat = Json::parse(result_text(outcome))[1]["OPAT"];
  const Json& listed = opat["repo_modified_operators"];
  ASSERT_EQ(listed.size(), 3u);
  EXPECT_EQ(listed[0]["op_name"], "layouts of resnet50");
  EXPECT_EQ(listed[0]["tune_performance"]["Format"]["performance_improvement"], "50.00%");
  EXPECT_EQ(opat["repo_summary"]["repo_add_num"], 19);
}

TEST(ResultFileTest, HasTheFieldsOfTheSample) {
  const Json expected = Json::parse(R"json([
    {"basic": {"tuning_name": "resnet50", "tuning_time(s)": 1494}},
    {"OPAT": {
      "model_baseline_performance(ms)": 113.588725,
      "model_performance_improvement": "0.31%",
      "model_result_performance(ms)": 113.236731,
      "opat_tuning_result": "tuning successful",
      "repo_modified_operators": [
        {"op_name": "softmax", "op_type": "Softmax",
         "tune_performance": {"Format": {
           "performance_after_tune(us)": 99.0, "performance_before_tune(us)": 134.0,
           "performance_improvement": "35.35%", "update_mode": "add"}}},
        {"op_name": "Conv_125", "op_type": ["Conv", "Relu"],
         "tune_performance": {"Schedule": {
           "performance_after_tune(us)": 72.046, "performance_before_tune(us)": 72.055,
           "performance_improvement": "0.01%", "update_mode": "update"}}}],
      "repo_summary": {"repo_add_num": 19, "repo_hit_num": 0, "repo_reserved_num": 0,
        "repo_unsatisfied_num": 2, "repo_update_num": 0, "total_num": 21}}}])json");
  const Json result = Json::parse(result_text(sample()));
  EXPECT_EQ(without_evidence(result), expected) << result.dump(2);
  const Json& evidence = result[1]["OPAT"]["repo_modified_operators"][0]["evidence"];
  EXPECT_EQ(evidence, Json::parse(R"json({"samples": 64, "speedup_low": 1.31, "speedup_high": 1.39,
    "noise_floor": 1.012, "confidence": 0.99, "margin": 0.023, "measurements": ["j:1", "j:2"],
    "policy_before": "loops outer=1 [r:8x4]", "policy_after": "loops outer=1 [r:16x4]",
    "numerics": "direct"})json"));
  EXPECT_TRUE(result[1]["OPAT"].contains("evidence"));
}

TEST(ResultFileTest, SaysWhyWhereItIsKnown) {
  TuningOutcome outcome = sample();
  outcome.operators[0].why =
      Explanation{{false, 20, 0.5}, {false, 27, 0.67512}, {{"lanes", "8", "16", 0.1234}}};
  const Json result = Json::parse(result_text(outcome));
  const Json& operators = result[1]["OPAT"]["repo_modified_operators"];
  const Json& why = operators[0]["evidence"];
  EXPECT_EQ(why["bound_by"], "bytes");
  EXPECT_EQ(why["roof_share_before"], 0.5);
  EXPECT_EQ(why["roof_share_after"], 0.675);
  EXPECT_EQ(why["decisions"], Json::parse(R"json([
    {"decision": "lanes", "before": "8", "after": "16", "loss": 0.123}])json"));
  EXPECT_EQ(why["samples"], 64);
  EXPECT_FALSE(operators[1]["evidence"].contains("bound_by"));
}

TEST(ResultFileTest, ImprovementIsThatOfTheSamples) {
  EXPECT_EQ(improvement_text(58.781, 26.876), "118.71%");
  EXPECT_EQ(improvement_text(16.71, 15.71), "6.37%");
  EXPECT_EQ(improvement_text(134, 99), "35.35%");
  EXPECT_EQ(improvement_text(72.055, 72.046), "0.01%");
  EXPECT_EQ(improvement_text(5.600486, 3.610442), "55.12%");  // the sample truncates 55.119
  EXPECT_EQ(improvement_text(99, 100), "-1.00%");
}

TEST(ResultFileTest, WhileItRunsWhatIsNotKnownIsAbsent) {
  TuningOutcome outcome = sample();
  outcome.state = State::incomplete;
  const Json result = Json::parse(result_text(outcome));
  EXPECT_EQ(result[0]["basic"], Json({{"tuning_name", "resnet50"}}));
  const Json& opat = result[1]["OPAT"];
  EXPECT_EQ(opat["opat_tuning_result"], "tune tuning incomplete");
  EXPECT_EQ(opat["model_baseline_performance(ms)"], 113.588725);
  for (const char* absent : {"model_result_performance(ms)", "model_performance_improvement",
                             "tuning_failed_operators", "evidence"}) {
    EXPECT_FALSE(opat.contains(absent)) << absent;
  }
  EXPECT_EQ(opat["repo_modified_operators"].size(), 2U);
}

TEST(ResultFileTest, AGainThatIsNotProvenIsEvidenceOnly) {
  TuningOutcome outcome = sample();
  outcome.model.reset();
  outcome.unproven_model = {.before_ns = 101,
                            .after_ns = 100,
                            .speedup_low = 1.008,
                            .speedup_high = 1.014,
                            .noise_floor = 1.012,
                            .samples = 36};
  const Json opat = Json::parse(result_text(outcome))[1]["OPAT"];
  EXPECT_EQ(opat["evidence"], Json::parse(R"json({"proven": false, "speedup": 1.01,
    "speedup_low": 1.008, "speedup_high": 1.014, "noise_floor": 1.012, "samples": 36,
    "confidence": 0.99, "margin": 0.023})json"));
  EXPECT_FALSE(opat.contains("model_result_performance(ms)"));
  EXPECT_FALSE(opat.contains("model_performance_improvement"));
  EXPECT_EQ(opat["model_baseline_performance(ms)"], 113.588725);
}

TEST(ResultFileTest, NamesTheFolderOfTheJob) {
  TuningOutcome outcome = sample();
  outcome.journal = "/work/aoe_workspace/resnet50_1";
  EXPECT_EQ(Json::parse(result_text(outcome))[0]["basic"]["evidence"],
            Json({{"journal", "/work/aoe_workspace/resnet50_1"}}));
}

TEST(ResultFileTest, NamesWhatFailed) {
  TuningOutcome outcome = sample();
  outcome.state = State::failed;
  outcome.failed_operators = {"res4a_branch1"};
  const Json opat = Json::parse(result_text(outcome))[1]["OPAT"];
  EXPECT_EQ(opat["opat_tuning_result"], "tuning failed");
  EXPECT_EQ(opat["tuning_failed_operators"], Json({"res4a_branch1"}));
}

TEST(ResultFileTest, NothingToTuneIsNoSegment) {
  const TuningOutcome outcome{.name = "m", .state = State::successful, .has_operators = false};
  EXPECT_EQ(Json::parse(result_text(outcome)),
            Json::parse(R"json([{"basic": {"tuning_name": "m", "tuning_time(s)": 0}}])json"));
}

TEST(ResultFileTest, NamesOfAnyBytesMakeValidJson) {
  TuningOutcome outcome = sample();
  outcome.operators[0].name = "\xff\"\n";
  EXPECT_TRUE(Json::accept(result_text(outcome)));
}

TEST(ResultFileTest, NumbersThatAreNotFiniteAreOmitted) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  TuningOutcome outcome = sample();
  outcome.seconds = kNaN;
  outcome.model->after_ns = kNaN;
  outcome.model->speedup_high = kInfinity;  // of fewer pairs than an interval needs
  outcome.operators[0].gain.after_ns = 0;
  outcome.operators[0].why =
      Explanation{{true, 1, kInfinity}, {true, 1, 0.5}, {{"a", "", "", kNaN}}};
  const std::string text = result_text(outcome);
  for (const char* wrong : {"null", "nan", "inf"}) {
    EXPECT_EQ(text.find(wrong), std::string::npos) << wrong << " in " << text;
  }
  const Json result = Json::parse(text);
  EXPECT_FALSE(result[0]["basic"].contains("tuning_time(s)"));
  const Json& opat = result[1]["OPAT"];
  EXPECT_EQ(opat["model_baseline_performance(ms)"], 113.588725);
  EXPECT_FALSE(opat.contains("model_result_performance(ms)"));
  EXPECT_FALSE(opat.contains("model_performance_improvement"));
  EXPECT_EQ(opat["evidence"], Json::parse(R"json({"samples": 0, "speedup_low": 0.0,
    "noise_floor": 1.0, "confidence": 0.99, "margin": 0.023, "proven": true})json"));
  const Json& modified = opat["repo_modified_operators"][0];
  EXPECT_EQ(modified["tune_performance"]["Format"], Json::parse(R"json({
    "performance_before_tune(us)": 134.0, "performance_after_tune(us)": 0.0,
    "update_mode": "add"})json"));
  EXPECT_FALSE(modified["evidence"].contains("roof_share_before"));
  EXPECT_EQ(modified["evidence"]["roof_share_after"], 0.5);
  EXPECT_FALSE(modified["evidence"]["decisions"][0].contains("loss"));
}

TEST(ResultFileTest, ADurationThatNoIntegerRepresentsIsOmitted) {
  TuningOutcome outcome = sample();
  outcome.seconds = 1e30;
  EXPECT_FALSE(Json::parse(result_text(outcome))[0]["basic"].contains("tuning_time(s)"));
}

TEST(TimeTextTest, SaysMoments) {
  EXPECT_EQ(utc_text(SystemTime(std::chrono::seconds(1794893400))), "2026-11-17T05:30:00Z");
  const std::string timestamp = timestamp_text(SystemTime(std::chrono::milliseconds(1042)));
  EXPECT_EQ(timestamp.size(), 18U);
  EXPECT_TRUE(timestamp.ends_with("01042")) << timestamp;  // hours depend on the time zone
}

TEST(ResultFileTest, IsWholeAfterEachWrite) {
  const TemporaryFolder folder;
  const auto started = SystemTime(std::chrono::milliseconds(1042));
  const ResultFile file(folder.path(), started);
  EXPECT_EQ(file.file().filename(), "aoe_result_opat_" + timestamp_text(started) + "_pid" +
                                        std::to_string(getpid()) + ".json");
  for (const State state : {State::incomplete, State::successful}) {
    TuningOutcome outcome = sample();
    outcome.state = state;
    file.write(outcome);
    std::ifstream stream(file.file());
    EXPECT_EQ(Json::parse(stream), Json::parse(result_text(outcome)));
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  EXPECT_THROW(ResultFile("/nowhere", started).write(sample()), Error);
}

}  // namespace
}  // namespace aoe
