#include "bank/places.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "bank/tuned.h"
#include "tests/cpp/error_message.h"

namespace aoe {
namespace {

namespace fs = std::filesystem;

TEST(TunedTest, WhatIsWrittenWhen) {
  struct Row {
    bool in_bank;
    bool repeat_tune;
    bool better;
    Tuned outcome;
    TunedCounts counts;
    int hit;
  };
  const Row rows[] = {
      {true, false, false, Tuned::reserved, {.reserved = 1}, 1},
      {true, false, true, Tuned::reserved, {.reserved = 1}, 1},
      {true, true, true, Tuned::update, {.update = 1}, 1},
      {true, true, false, Tuned::reserved, {.reserved = 1}, 1},
      {false, false, true, Tuned::add, {.add = 1}, 0},
      {false, true, true, Tuned::add, {.add = 1}, 0},
      {false, false, false, Tuned::unsatisfied, {.unsatisfied = 1}, 0},
      {false, true, false, Tuned::unsatisfied, {.unsatisfied = 1}, 0},
  };
  TunedCounts all;
  for (const Row& row : rows) {
    const Tuned outcome = tuned(row.in_bank, row.repeat_tune, row.better);
    EXPECT_EQ(outcome, row.outcome);
    TunedCounts counts;
    counts.count(outcome);
    EXPECT_EQ(counts, row.counts);
    EXPECT_EQ(counts.hit(), row.hit);
    EXPECT_EQ(counts.total(), 1);
    all.count(outcome);
  }
  EXPECT_EQ(all.hit(), 4);
  EXPECT_EQ(all.total(), 8);
  EXPECT_FALSE(is_to_be_tuned(true, false));
  EXPECT_TRUE(is_to_be_tuned(true, true));
  EXPECT_TRUE(is_to_be_tuned(false, false));
}

TEST(TunedTest, CountsThatDoNotAgreeAreInternalErrors) {
  const TunedCounts counts{.add = 1, .update = 2, .reserved = 3, .unsatisfied = 4};
  const TunedTally tally{.workloads = 11, .failed = 1, .in_bank = 5, .stored = 3};
  check_counts(counts, tally);
  for (const auto& [change, word] :
       std::vector<std::pair<std::function<void(TunedTally&)>, const char*>>{
           {[](TunedTally& one) { ++one.workloads; }, "10 of 12 workloads are counted"},
           {[](TunedTally& one) { ++one.failed; }, "2 failed"},
           {[](TunedTally& one) { --one.in_bank; }, "5 hits are counted, the bank had 4"},
           {[](TunedTally& one) { ++one.stored; },
            "3 policies are counted as new, 4 were stored"}}) {
    TunedTally other = tally;
    change(other);
    const std::string message = message_of([&] { check_counts(counts, other); });
    EXPECT_NE(message.find(word), std::string::npos) << message;
    EXPECT_TRUE(message.starts_with("internal error")) << message;
  }
}

TEST(PlacesTest, VariablesSayWhereBanksAre) {
  using Variables = std::map<std::string, std::string>;
  const auto places = [](const Variables& variables) {
    return bank_places("x86_64_znver4", [=](const char* name) {
      const auto found = variables.find(name);
      return found == variables.end() ? std::string() : found->second;
    });
  };
  const auto written = [&](const Variables& variables) {
    const BankPlaces found = places(variables);
    return std::pair{found.written(BankKind::operators), found.written(BankKind::graphs)};
  };
  using Files = std::pair<fs::path, fs::path>;
  const Variables all{
      {"HOME", "/home/me"}, {"ASCEND_CACHE_PATH", "/cache"}, {"TUNE_BANK_PATH", "/banks"}};
  EXPECT_EQ(written(all), (Files{"/banks/x86_64_znver4/op.db", "/banks/x86_64_znver4/graph.db"}));
  EXPECT_EQ(places(all).variable, "TUNE_BANK_PATH");
  EXPECT_EQ(places(all).roots, std::vector<fs::path>{"/banks"});
  EXPECT_EQ(written({{"HOME", "/h"}, {"ASCEND_CACHE_PATH", "/c"}}),
            (Files{"/c/aoe_data/x86_64_znver4/op.db", "/c/aoe_data/x86_64_znver4/graph.db"}));
  EXPECT_EQ(written({{"HOME", "/h"}}),
            (Files{"/h/Ascend/latest/data/aoe/custom/op/x86_64_znver4/op.db",
                   "/h/Ascend/latest/data/aoe/custom/graph/x86_64_znver4/graph.db"}));
  EXPECT_TRUE(places({}).custom.empty());
  EXPECT_TRUE(places({}).written(BankKind::operators).empty());
  EXPECT_TRUE(places({{"AOE_BUILTIN", "off"}}).builtin.empty());
  EXPECT_TRUE(places({}).builtin.at(0)[0].string().ends_with("builtin/op/x86_64_znver4/op.db"));
}

TEST(PlacesTest, LayersAreReadInOrder) {
  const BankPlaces places = bank_places("znver4", [](const std::string& name) -> std::string {
    if (name == "AOE_BUILTIN") return "off";
    return name == "TUNE_BANK_PATH" ? "/mine::/team:/all" : "";
  });
  EXPECT_EQ(places.written(BankKind::operators), "/mine/znver4/op.db");
  EXPECT_EQ(
      places.read(BankKind::operators),
      (std::vector<fs::path>{"/mine/znver4/op.db", "/team/znver4/op.db", "/all/znver4/op.db"}));
  // The layouts of graphs were among the policies in earlier versions.
  EXPECT_EQ(
      places.read(BankKind::graphs),
      (std::vector<fs::path>{"/mine/znver4/graph.db", "/mine/znver4/op.db", "/team/znver4/graph.db",
                             "/team/znver4/op.db", "/all/znver4/graph.db", "/all/znver4/op.db"}));
  EXPECT_EQ(places.roots, (std::vector<fs::path>{"/mine", "/team", "/all"}));
}

}  // namespace
}  // namespace aoe
