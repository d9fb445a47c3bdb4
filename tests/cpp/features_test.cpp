#include "search/kernel_features.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "policy/policy_text.h"
#include "tests/cpp/search_spaces.h"

namespace aoe {
namespace {

std::vector<float> features_in(const Space& space, const Policy& policy) {
  return features_of(space.schedule(policy.structure), policy, space.device());
}

TEST(Features, HaveOneNameEachWhateverTheWorkload) {
  const std::vector<std::string>& names = feature_names();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  Random random(1);
  for (const char* text : {kProduct, kSoftmax, kConvolution}) {
    const auto space = space_of(text);
    for (int i = 0; i < 20; ++i) {
      const std::vector<float> row = features_in(*space, space->sample(random));
      ASSERT_EQ(row.size(), names.size());
      for (size_t k = 0; k < row.size(); ++k) EXPECT_FALSE(std::isinf(row[k])) << names[k];
    }
  }
}

// NaN features compare as equal.
bool differ(const std::vector<float>& a, const std::vector<float>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && !(std::isnan(a[i]) && std::isnan(b[i]))) return true;
  }
  return false;
}

TEST(Features, TellNeighboursApart) {
  for (const char* text : {kProduct, kSoftmax}) {
    const auto space = space_of(text);
    const std::vector<float> of_default = features_in(*space, space->default_policy());
    for (const Policy& other : space->neighbours(space->default_policy())) {
      EXPECT_TRUE(differ(of_default, features_in(*space, other)))
          << to_string(other, space->workload());
    }
  }
}

TEST(Features, SayWhatTheyAreCalled) {
  const auto space = space_of(kProduct);
  Policy policy = space->default_policy();
  auto& product = std::get<ProductPolicy>(policy.items[0]);
  product.rows = 5;
  product.vectors = 2;
  product.lanes = 4;
  const std::vector<float> row = features_in(*space, policy);
  const std::vector<std::string>& names = feature_names();
  const auto value = [&](const std::string& name) {
    const auto found = std::find(names.begin(), names.end(), name);
    EXPECT_NE(found, names.end()) << name;
    return row[static_cast<size_t>(found - names.begin())];
  };
  EXPECT_EQ(value("product 1 tile rows"), 5);
  EXPECT_EQ(value("product 1 tile vectors"), 2);
  EXPECT_EQ(value("product 1 rows used"), 1);
  EXPECT_FLOAT_EQ(value("product 1 columns used"), 36.0F / 40);
  EXPECT_FLOAT_EQ(value("product 1 loads by multiplication"), 0.7F);
  EXPECT_TRUE(std::isnan(value("product 2 tile rows")));
  EXPECT_TRUE(std::isnan(value("loop 1 lanes")));
}

}  // namespace
}  // namespace aoe
