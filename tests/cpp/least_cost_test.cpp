#include "plan/least_cost.h"

#include <gtest/gtest.h>

#include <random>

namespace aoe {
namespace {

// Random costs of each choice of some variables.
CostTerm random_term(std::mt19937& random, std::vector<int> variables) {
  const unsigned seed = random();
  return {std::move(variables), [seed](const std::vector<int>& options) {
            unsigned mixed = seed;
            for (const int option : options) {
              mixed = (mixed ^ static_cast<unsigned>(option + 1)) * 2654435761U;
              mixed ^= mixed >> 15;
            }
            return static_cast<double>(mixed % 1000);
          }};
}

double total_cost(const std::vector<CostTerm>& terms, const std::vector<int>& chosen) {
  double cost = 0;
  for (const CostTerm& term : terms) {
    std::vector<int> options;
    for (const int v : term.variables) options.push_back(chosen[static_cast<size_t>(v)]);
    cost += term.of(options);
  }
  return cost;
}

double least_of_all(const std::vector<int>& options, const std::vector<CostTerm>& terms) {
  std::vector<int> chosen(options.size());
  double least = total_cost(terms, chosen);
  while (true) {
    size_t v = 0;
    while (v < options.size() && ++chosen[v] == options[v]) chosen[v++] = 0;
    if (v == options.size()) return least;
    least = std::min(least, total_cost(terms, chosen));
  }
}

TEST(LeastCost, IsFoundInChainsWithShortcuts) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<int> options;
    for (int v = 0; v < 8; ++v) options.push_back(static_cast<int>(2 + random() % 2));
    std::vector<CostTerm> terms;
    for (int v = 0; v < 7; ++v) terms.push_back(random_term(random, {v, v + 1}));
    terms.push_back(random_term(random, {0, 2, 3}));
    terms.push_back(random_term(random, {3, 5, 6}));
    terms.push_back(random_term(random, {7}));
    EXPECT_EQ(total_cost(terms, least_cost(options, terms)), least_of_all(options, terms));
  }
}

TEST(LeastCost, IsNeverAboveThatOfTheFirstOptions) {
  std::mt19937 random(2);
  for (int round = 0; round < 20; ++round) {
    // All variables interact, in pairs and in one term of all.
    const std::vector<int> options(12, 3);
    std::vector<int> all;
    std::vector<CostTerm> terms;
    for (int v = 0; v < 12; ++v) {
      all.push_back(v);
      for (int w = 0; w < v; ++w) terms.push_back(random_term(random, {v, w}));
    }
    if (round % 2 == 0) terms.push_back(random_term(random, all));
    const std::vector<int> chosen = least_cost(options, terms);
    EXPECT_LE(total_cost(terms, chosen), total_cost(terms, std::vector<int>(12)));
    EXPECT_EQ(chosen, least_cost(options, terms));
  }
}

}  // namespace
}  // namespace aoe
