#include "plan/least_cost.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

// Minimizes a sum of terms over few discrete variables each, by variable elimination (dynamic
// programming over a tree decomposition). In reading order:
//   Elimination::eliminate   removes variables one by one
//   Elimination::remove      one of them: its best option for each choice of its neighbours
//   Elimination::chosen      backwards: reads off the options
//   tie, improve             the fallback where tables would be too large
//
// Removing b from a chain of terms f and g leaves a table over its neighbours a and c:
//
//   a --f-- b --g-- c        =>        a --h-- c        h(a, c) = min over b of f(a, b) + g(b, c)
//
// The variable with the fewest neighbours goes first (min-degree order): a table has one dimension
// for each neighbour, and in chains and trees that keeps tables at one or two.
//
// Invariant: the minimum over the variables that are left, of the sum of all tables, is the minimum
// of the original sum under the constraint that tied variables have equal options.

namespace aoe {
namespace {

// Asking a term is expensive (an estimate of a kernel's time): with three options, four variables
// are 81 estimates. Removing a variable only adds numbers of tables, so that it may look at more:
// the variable and at most six neighbours, 3^7 = 2187 sums. That leaves a table of the neighbours,
// of at most 3^6 = 729 entries.
constexpr size_t kMaxTermVariables = 4;
constexpr size_t kMaxTableVariables = 7;
// Bounds the estimates of the local search, for the same reason.
constexpr int kMostAsked = 400;

// A cost for every choice of some variables, row by row: the last variable varies fastest.
struct Table {
  std::vector<int> variables;
  std::vector<double> costs;
};

class Elimination {
 public:
  Elimination(const std::vector<int>& options, const std::vector<CostTerm>& terms)
      : terms_(terms), same_(options.size()), options_(options) {
    std::iota(same_.begin(), same_.end(), 0);
    for (const CostTerm& term : terms) {
      if (term.variables.size() > kMaxTermVariables) tie(term.variables);
    }
  }

  // Tying may leave other variables with too many neighbours: elimination starts over until it
  // gets through. Each round ties at least two variables, so it ends.
  std::vector<int> choose() {
    while (true) {
      if (const auto wide = eliminate()) tie(*wide);
      else return chosen();
    }
  }

  // Whether some variables were constrained to the same option, so that the result need not be the
  // minimum.
  bool tied() const {
    for (size_t v = 0; v < same_.size(); ++v) {
      if (same_[v] != static_cast<int>(v)) return true;
    }
    return false;
  }

 private:
  struct Eliminated {
    int variable = 0;
    std::vector<int> neighbours;
    std::vector<int> best;  // option of the variable, by choice of the neighbours
  };

  int root(int v) const {
    while (same_[static_cast<size_t>(v)] != v) v = same_[static_cast<size_t>(v)];
    return v;
  }
  int options(int v) const { return options_[static_cast<size_t>(v)]; }

  // Union-find: all get the first one's root. Options that not all of them have are dropped.
  void tie(const std::vector<int>& variables) {
    const int first = root(variables[0]);
    for (const int v : variables) {
      const int other = root(v);
      const int fewest = std::min(options(first), options(other));
      same_[static_cast<size_t>(other)] = first;
      options_[static_cast<size_t>(first)] = fewest;
    }
  }

  size_t choices(const std::vector<int>& variables) const {
    size_t count = 1;
    for (const int v : variables) count *= static_cast<size_t>(options(v));
    return count;
  }

  // A choice is one option for each of some variables. `choice` returns the options of the choice
  // with a given number, `number` is its inverse.
  std::vector<int> choice(const std::vector<int>& variables, size_t number) const {
    std::vector<int> result(variables.size());
    for (size_t i = variables.size(); i-- > 0;) {
      const auto count = static_cast<size_t>(options(variables[i]));
      result[i] = static_cast<int>(number % count);
      number /= count;
    }
    return result;
  }
  size_t number(const std::vector<int>& variables, const std::map<int, int>& of) const {
    size_t result = 0;
    for (const int v : variables) {
      result = result * static_cast<size_t>(options(v)) + static_cast<size_t>(of.at(v));
    }
    return result;
  }

  Table table_of(const CostTerm& term) const {
    std::set<int> roots;
    for (const int v : term.variables) roots.insert(root(v));
    Table table{{roots.begin(), roots.end()}, {}};
    for (size_t n = 0; n < choices(table.variables); ++n) {
      const std::vector<int> of_roots = choice(table.variables, n);
      std::vector<int> of_term;
      for (const int v : term.variables) {
        const auto at = std::find(table.variables.begin(), table.variables.end(), root(v));
        of_term.push_back(of_roots[static_cast<size_t>(at - table.variables.begin())]);
      }
      table.costs.push_back(term.of(of_term));
    }
    return table;
  }

  // Returns nullopt if all variables are eliminated, else a variable and its neighbours, which are
  // more than kMaxTableVariables.
  std::optional<std::vector<int>> eliminate() {
    eliminated_.clear();
    std::vector<Table> tables;
    for (const CostTerm& term : terms_) tables.push_back(table_of(term));
    std::map<int, std::set<int>> met;  // by variable that is left: those it shares a table with
    for (size_t v = 0; v < same_.size(); ++v) met[root(static_cast<int>(v))];
    for (const Table& table : tables) meet(met, table.variables);
    while (!met.empty()) {
      const auto next = std::min_element(met.begin(), met.end(), [](const auto& a, const auto& b) {
        return a.second.size() < b.second.size();
      });
      const int v = next->first;
      std::vector<int> others(next->second.begin(), next->second.end());
      if (others.size() >= kMaxTableVariables) {
        others.push_back(v);
        return others;
      }
      remove(tables, v, others);
      met.erase(next);
      for (const int other : others) met[other].erase(v);
      meet(met, others);
    }
    return std::nullopt;
  }

  static void meet(std::map<int, std::set<int>>& met, const std::vector<int>& variables) {
    for (const int a : variables) {
      for (const int b : variables) {
        if (a != b) met[a].insert(b);
      }
    }
  }

  static bool has(const Table& table, int v) {
    return std::find(table.variables.begin(), table.variables.end(), v) != table.variables.end();
  }

  void remove(std::vector<Table>& tables, int v, const std::vector<int>& met) {
    Eliminated done{v, met, {}};
    Table rest{met, {}};
    for (size_t n = 0; n < choices(met); ++n) {
      const std::vector<int> others = choice(met, n);
      std::map<int, int> of;
      for (size_t i = 0; i < met.size(); ++i) of[met[i]] = others[i];
      double least = INFINITY;
      int best = 0;
      for (int option = 0; option < options(v); ++option) {
        of[v] = option;
        double cost = 0;
        for (const Table& table : tables) {
          if (has(table, v)) cost += table.costs[number(table.variables, of)];
        }
        if (cost < least) {
          least = cost;
          best = option;
        }
      }
      done.best.push_back(best);
      rest.costs.push_back(least);
    }
    std::erase_if(tables, [&](const Table& table) { return has(table, v); });
    tables.push_back(std::move(rest));
    eliminated_.push_back(std::move(done));
  }

  std::vector<int> chosen() const {
    std::map<int, int> of;
    for (auto done = eliminated_.rbegin(); done != eliminated_.rend(); ++done) {
      of[done->variable] = done->best[number(done->neighbours, of)];
    }
    std::vector<int> result;
    for (size_t v = 0; v < same_.size(); ++v) result.push_back(of.at(root(static_cast<int>(v))));
    return result;
  }

  const std::vector<CostTerm>& terms_;
  std::vector<int> same_;     // union-find parents: tied variables have the same root
  std::vector<int> options_;  // by root: number of options
  std::vector<Eliminated> eliminated_;
};

double cost_of(const CostTerm& term, const std::vector<int>& chosen) {
  std::vector<int> choice;
  for (const int v : term.variables) choice.push_back(chosen[static_cast<size_t>(v)]);
  return term.of(choice);
}

// Local search: changes one variable at a time while that lowers the cost. Starting from tied
// variables, it can only get better.
void improve(const std::vector<int>& options, const std::vector<CostTerm>& terms,
             std::vector<int>& chosen) {
  std::vector<std::vector<const CostTerm*>> of(options.size());
  for (const CostTerm& term : terms) {
    for (const int v : term.variables) of[static_cast<size_t>(v)].push_back(&term);
  }
  int asked = 0;
  const auto around = [&](size_t v) {
    double cost = 0;
    for (const CostTerm* term : of[v]) cost += cost_of(*term, chosen);
    asked += static_cast<int>(of[v].size());
    return cost;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t v = 0; v < options.size(); ++v) {
      double least = around(v);
      int best = chosen[v];
      for (int option = 0; option < options[v]; ++option) {
        if (asked > kMostAsked) return;
        const int before = std::exchange(chosen[v], option);
        const double cost = around(v);
        chosen[v] = before;
        if (cost >= least) continue;
        least = cost;
        best = option;
      }
      changed = changed || chosen[v] != best;
      chosen[v] = best;
    }
  }
}

}  // namespace

std::vector<int> least_cost(const std::vector<int>& options, const std::vector<CostTerm>& terms) {
  Elimination elimination(options, terms);
  std::vector<int> chosen = elimination.choose();
  if (elimination.tied()) improve(options, terms, chosen);
  return chosen;
}

}  // namespace aoe
