#include "base/numerics.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <random>

#include "bank/bank.h"
#include "codegen/cpu_backend.h"
#include "expr/parse.h"
#include "op/operator.h"
#include "policy/policy_text.h"
#include "policy/space.h"
#include "policy/validate.h"
#include "runtime/stored_policies.h"
#include "tests/cpp/bank_entries.h"
#include "tests/cpp/error_message.h"
#include "tests/cpp/small_networks.h"
#include "tests/cpp/temporary_folder.h"

namespace aoe {
namespace {

TEST(ImplMode, SaysWhichAlgorithmsAnOperatorMayUse) {
  struct Case {
    ImplMode impl;
    Numerics conv, matmul;
  };
  using enum Numerics;
  for (const auto& [impl, conv, matmul] : {
           Case{{}, winograd, winograd},
           {{"high_performance"}, winograd, winograd},
           {{"high_precision"}, direct, direct},
           {{"high_precision", {"Conv"}}, direct, winograd},
           {{"high_precision", {"Conv"}, true}, direct, strassen},
           {{"", {}, true}, strassen, strassen},
       }) {
    impl.check();
    EXPECT_EQ(impl.numerics_of("Conv"), conv);
    EXPECT_EQ(impl.numerics_of("MatMul"), matmul);
  }
}

TEST(ImplMode, RefusesWhatMakesNoSense) {
  EXPECT_NE(message_of([] { ImplMode{"high"}.check(); }).find("'high'"), std::string::npos);
  EXPECT_NE(message_of([] { ImplMode{"", {"Conv"}}.check(); }).find("optypelist_for_implmode"),
            std::string::npos);
  EXPECT_NE(message_of([] { ImplMode{"high_precision", {}, true}.check(); }).find("contradicts"),
            std::string::npos);
}

TEST(ImplMode, ListsKnownOperators) {
  const std::vector<std::string> known{"Conv", "MatMul", "LSTM"};
  EXPECT_EQ(message_of([&] { require_operators(known, "list"); }), "no error");
  for (const auto& [listed, message] : std::map<std::string, std::string>{
           {"conv", "list: 'conv' is no type of operator; did you mean 'Conv'?"},
           {"Conv,MatMul", "list: 'Conv,MatMul' is no type of operator"},
           {" Conv", "list: ' Conv' is no type of operator; did you mean 'Conv'?"},
           {"", "list: '' is no type of operator"}}) {
    const std::vector<std::string> one{listed};
    EXPECT_EQ(message_of([&] { require_operators(one, "list"); }), message);
  }
}

TEST(ImplMode, IsGivenByItsOptions) {
  using Options = std::vector<std::string>;
  EXPECT_EQ(ImplMode{}.options(), Options{});
  EXPECT_EQ((ImplMode{"high_precision", {"Conv", "MatMul"}, true}.options()),
            (Options{"--op_select_implmode=high_precision", "--optypelist_for_implmode=Conv,MatMul",
                     "--allow_strassen"}));
}

// A convolution of 3 x 3 that runs by Winograd's algorithm unless that is forbidden.
OnnxBuilder convolution_network() {
  OnnxBuilder builder;
  builder.input("x", {1, 64, 28, 28});
  std::vector<float> weights(64 * 64 * 9);
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 0.05F);
  for (float& weight : weights) weight = normal(random);
  builder.floats("w", {64, 64, 3, 3}, weights);
  OnnxBuilder::set_ints(builder.node("Conv", {"x", "w"}, {"y"}), "pads", {1, 1, 1, 1});
  builder.output("y");
  return builder;
}

// The largest class that a kernel of the model needs.
Numerics used_by(const LoadedModel& model) {
  Numerics used = Numerics::direct;
  for (const auto& kernel : model.executable()->kernels()) {
    used = std::max(used, numerics_of(kernel->policy().structure));
  }
  return used;
}

TEST(Numerics, DefaultsUseNoForbiddenAlgorithm) {
  const OnnxBuilder builder = convolution_network();
  EXPECT_EQ(used_by(loaded(builder)), Numerics::winograd);
  EXPECT_EQ(used_by(loaded(builder, {.impl = {"high_precision"}})), Numerics::direct);
  EXPECT_EQ(used_by(loaded(builder, {.impl = {"high_precision", {"Conv"}}})), Numerics::direct);
  EXPECT_EQ(used_by(loaded(builder, {.impl = {"high_precision", {"MatMul"}}})), Numerics::winograd);
}

TEST(Numerics, OfAnOmFileStayRestricted) {
  const TemporaryFolder folder;
  const auto onnx = folder.path() / "m.onnx";
  OnnxBuilder builder = convolution_network();
  std::ofstream(onnx) << builder.model.SerializeAsString();
  for (const bool precise : {false, true}) {
    const auto file = folder.path() / "m.om";
    const LoadOptions options{.impl = {precise ? "high_precision" : ""}};
    write_om(file, LoadedModel::compiled(onnx, options, host_backend()).model);
    EXPECT_EQ(used_by(LoadedModel::from_file(file, {}, host_backend())),
              precise ? Numerics::direct : Numerics::winograd);
    // Policies in the file that need more than is allowed now are not used.
    EXPECT_EQ(used_by(LoadedModel::from_file(file, {.impl = {"high_precision"}}, host_backend())),
              Numerics::direct);
  }
}

constexpr const char* kProduct =
    "in %0 f32[128,256]\nweight %1 f32[256,256]\n"
    "%2 f32[128,256] = sum(r:256) %0[a, r] * %1[r, b]\nout %2\n";

TEST(Numerics, SpacesOfferNoForbiddenAlgorithm) {
  for (const Numerics allowed : {Numerics::direct, Numerics::winograd, Numerics::strassen}) {
    auto workload = std::make_shared<Workload>(parse_workload(kProduct));
    workload->numerics = allowed;
    const Space space(workload, host_device());
    Random random(1);
    Numerics most = Numerics::direct;
    for (int i = 0; i < 200; ++i) {
      const Policy policy = space.sample(random);
      EXPECT_FALSE(validate(policy, *workload, host_device()));
      most = std::max(most, numerics_of(policy.structure));
    }
    EXPECT_EQ(most, allowed == Numerics::strassen ? Numerics::strassen : Numerics::direct);
  }
}

TEST(Numerics, PoliciesOfAForbiddenClassAreRefused) {
  Workload workload = parse_workload(kProduct);
  const Space all(std::make_shared<const Workload>(workload), host_device());
  Random random(1);
  Policy policy = all.sample(random);
  while (numerics_of(policy.structure) != Numerics::strassen) policy = all.sample(random);
  EXPECT_EQ(numerics_of(to_string(policy, workload)), Numerics::strassen);
  EXPECT_FALSE(validate(policy, workload, host_device()));
  workload.numerics = Numerics::winograd;
  const auto fault = validate(policy, workload, host_device());
  ASSERT_TRUE(fault);
  EXPECT_NE(fault->find("strassen"), std::string::npos);
}

// A policy that was proven where the classes up to `allowed` could be chosen.
BankEntry entry_of(const char* policy, Numerics allowed) {
  BankEntry entry = some_entry();
  entry.policy = policy;
  entry.allowed = allowed;
  return entry;
}

TEST(Numerics, BanksKeepAnEntryOfEachClass) {
  const TemporaryFolder folder;
  Bank bank = Bank::for_writing(folder.path() / "op.db", kSomeTarget.soc_version);
  const auto found = [&](Numerics allowed) {
    const auto result = bank.find({max_workload(0)}, kSomeTarget, allowed)[0];
    return result.entry ? result.entry->policy : "";
  };
  using enum Numerics;
  const BankEntry tiles = entry_of("stage 0 winograd4", winograd);
  const BankEntry one = entry_of("direct one", direct);
  const BankEntry halves = entry_of("stage 0 strassen", strassen);
  BankEntry better = entry_of("direct two", winograd);
  better.total_low = 2 * tiles.total_low;
  ASSERT_TRUE(bank.put(tiles, std::nullopt));
  EXPECT_EQ(found(direct), "");
  ASSERT_TRUE(bank.put(one, std::nullopt));  // tuned with high_precision
  EXPECT_EQ(found(direct), one.policy);
  EXPECT_EQ(found(winograd), tiles.policy);
  EXPECT_EQ(found(strassen), tiles.policy);
  ASSERT_TRUE(bank.put(halves, tiles.policy));
  EXPECT_EQ(found(direct), one.policy);
  EXPECT_EQ(found(winograd), tiles.policy);
  EXPECT_EQ(found(strassen), halves.policy);
  // Proven against the entry that was found for its class: it replaces that one.
  ASSERT_TRUE(bank.put(better, tiles.policy));
  EXPECT_EQ(found(direct), one.policy);
  EXPECT_EQ(found(winograd), better.policy);
  EXPECT_EQ(found(strassen), halves.policy);
  EXPECT_EQ(bank.entries().size(), 3u);
  // Another process has written meanwhile.
  EXPECT_FALSE(bank.put(tiles, tiles.policy));
}

TEST(Numerics, APolicyThatNeedsLessServesWhereLessIsAllowed) {
  const TemporaryFolder folder;
  Bank bank = Bank::for_writing(folder.path() / "op.db", kSomeTarget.soc_version);
  const BankEntry needs_nothing = entry_of("direct", Numerics::strassen);
  ASSERT_TRUE(bank.put(needs_nothing, std::nullopt));
  for (const Numerics allowed : {Numerics::direct, Numerics::winograd, Numerics::strassen}) {
    EXPECT_EQ(bank.find({max_workload(0)}, kSomeTarget, allowed)[0].entry, needs_nothing);
  }
}

TEST(Numerics, AnInvalidPolicyDoesNotHideThoseOfSmallerClasses) {
  const TemporaryFolder folder;
  const auto backend = host_backend();
  const Target target = target_of(backend->device(), 1);
  const auto workload = std::make_shared<Workload>(
      parse_workload("in %0 f32[64,64]\nin %1 f32[64,64]\n"
                     "%2 f32[64,64] = sum(r:64) %0[a, r] * %1[r, b]\nout %2\n"));
  workload->numerics = Numerics::strassen;
  Policy valid = default_policy(*workload, backend->device());
  std::get<ProductPolicy>(valid.items.at(0)).columns_first ^= true;
  Bank bank = Bank::for_writing(folder.path() / "op.db", target.soc_version);
  BankEntry entry = some_entry();
  entry.policy = to_string(valid, *workload);
  entry.workload = to_string(*workload);
  entry.target = target;
  entry.allowed = Numerics::direct;
  ASSERT_TRUE(bank.put(entry, std::nullopt));
  const std::string direct = entry.policy;
  entry.policy = "stage 0 strassen";  // of a product without weights
  entry.allowed = Numerics::strassen;
  ASSERT_TRUE(bank.put(entry, direct));
  const BankFiles files{folder.path() / "op.db", folder.path() / "graph.db"};
  const StoredPolicies policies({.custom = {files}}, target, {});
  const auto kernel = policies.kernel(workload, *backend, {});
  EXPECT_EQ(to_string(kernel->policy(), *workload), direct);
  EXPECT_EQ(policies.counts().from_bank, 1);
}

}  // namespace
}  // namespace aoe
