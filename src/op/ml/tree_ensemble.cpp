#include "op/ml/tree_ensemble.h"

#include <algorithm>
#include <cmath>

namespace aoe {
namespace {

template <typename Enum>
Enum numbered(int64_t value, Enum last, std::string_view what) {
  require(value >= 0 && value <= static_cast<int64_t>(last), "{} is {}, which is not a valid value",
          what, value);
  return static_cast<Enum>(value);
}

size_t index_below(int64_t value, size_t count, std::string_view what) {
  require(value >= 0 && value < static_cast<int64_t>(count), "{} has {}, there are {}", what, value,
          count);
  return static_cast<size_t>(value);
}

// Returns an attribute with one entry per node or leaf.
std::vector<int64_t> entries(const OpContext& op, std::string_view name, size_t count) {
  std::vector<int64_t> values = op.integers(name);
  require(values.size() == count, "attribute '{}' has {} entries where others have {}", name,
          values.size(), count);
  return values;
}

// The inverse of the normal distribution function, from Winitzki's approximation of the inverse
// error function, which is accurate to three digits.
double probit(double p) {
  const double x = 2 * p - 1;
  constexpr double kA = 0.147;
  const double log_term = std::log((1 - x) * (1 + x));
  const double sum = 2 / (M_PI * kA) + 0.5 * log_term;
  const double inverse_erf =
      std::copysign(std::sqrt(-sum + std::sqrt(sum * sum - log_term / kA)), x);
  return M_SQRT2 * inverse_erf;
}

void softmax(std::vector<double>& scores, bool skip_zeros) {
  double highest = -INFINITY;
  for (const double score : scores) highest = std::max(highest, score);
  double sum = 0;
  for (double& score : scores) {
    score = skip_zeros && score == 0 ? 0 : std::exp(score - highest);
    sum += score;
  }
  for (double& score : scores) score /= sum == 0 ? 1 : sum;
}

}  // namespace

TreeEnsemble::TreeEnsemble(const OpContext& op) {
  aggregate_ = numbered(op.integer("aggregate_function", 1), Aggregate::max, "aggregate_function");
  transform_ = numbered(op.integer("post_transform", 0), Transform::probit, "post_transform");
  const std::vector<double> weights = op.tensor_attr("leaf_weights").to_doubles();
  const std::vector<int64_t> targets = entries(op, "leaf_targetids", weights.size());
  int64_t highest = -1;
  for (const int64_t target : targets) highest = std::max(highest, target);
  targets_ = op.integer("n_targets", checked_add(highest, 1));
  for (size_t i = 0; i < weights.size(); ++i) {
    require(targets[i] >= 0 && targets[i] < targets_, "leaf_targetids has {}, there are {} targets",
            targets[i], targets_);
    leaves_.push_back({weights[i], static_cast<size_t>(targets[i])});
  }

  const std::vector<int64_t> modes = op.tensor_attr("nodes_modes").to_ints();
  const size_t count = modes.size();
  const std::vector<double> splits = op.tensor_attr("nodes_splits").to_doubles();
  require(splits.size() == count, "nodes_splits has {} entries, nodes_modes {}", splits.size(),
          count);
  const auto features = entries(op, "nodes_featureids", count);
  const auto true_nodes = entries(op, "nodes_truenodeids", count);
  const auto false_nodes = entries(op, "nodes_falsenodeids", count);
  const auto true_leaves = entries(op, "nodes_trueleafs", count);
  const auto false_leaves = entries(op, "nodes_falseleafs", count);
  std::vector<int64_t> missing(count, 0);
  if (op.has_attr("nodes_missing_value_tracks_true")) {
    missing = entries(op, "nodes_missing_value_tracks_true", count);
  }
  const auto branch = [&](int64_t to, int64_t leaf, std::string_view what) {
    return Branch{index_below(to, leaf != 0 ? leaves_.size() : count, what), leaf != 0};
  };
  for (size_t i = 0; i < count; ++i) {
    TreeNode node;
    node.mode = numbered(modes[i], Mode::member, "nodes_modes");
    node.split = splits[i];
    require(features[i] >= 0, "nodes_featureids has {}", features[i]);
    node.feature = static_cast<size_t>(features[i]);
    node.missing_is_true = missing[i] != 0;
    node.if_true = branch(true_nodes[i], true_leaves[i], "nodes_truenodeids");
    node.if_false = branch(false_nodes[i], false_leaves[i], "nodes_falsenodeids");
    nodes_.push_back(std::move(node));
  }
  for (const int64_t root : op.integers("tree_roots")) {
    roots_.push_back(index_below(root, count, "tree_roots"));
  }
  read_members(op);
}

// The sets are concatenated in the order of the nodes with Mode::member, each terminated by a NaN.
void TreeEnsemble::read_members(const OpContext& op) {
  std::vector<double> values;
  if (op.has_attr("membership_values")) values = op.tensor_attr("membership_values").to_doubles();
  auto next = values.begin();
  for (TreeNode& node : nodes_) {
    if (node.mode != Mode::member) continue;
    const auto end = std::find_if(next, values.end(), [](double v) { return std::isnan(v); });
    require(end != values.end(), "membership_values has fewer sets than there are nodes for them");
    node.members = {next, end};
    next = end + 1;
  }
}

bool TreeEnsemble::goes_true(const TreeNode& node, std::span<const double> features) const {
  require(node.feature < features.size(), "a node asks for feature {} of {}", node.feature,
          features.size());
  const double value = features[node.feature];
  if (std::isnan(value) && node.missing_is_true) return true;
  switch (node.mode) {
    case Mode::le: return value <= node.split;
    case Mode::lt: return value < node.split;
    case Mode::ge: return value >= node.split;
    case Mode::gt: return value > node.split;
    case Mode::eq: return value == node.split;
    case Mode::ne: return value != node.split;
    case Mode::member: return !std::isnan(value) && node.members.contains(value);
  }
  return false;
}

const TreeEnsemble::Leaf& TreeEnsemble::leaf_of(size_t root,
                                                std::span<const double> features) const {
  Branch at{root, false};
  for (size_t steps = 0; !at.leaf; ++steps) {
    require(steps <= nodes_.size(), "the tree with root {} has a cycle", root);
    const TreeNode& node = nodes_[at.to];
    at = goes_true(node, features) ? node.if_true : node.if_false;
  }
  return leaves_[at.to];
}

std::vector<double> TreeEnsemble::scores(std::span<const double> features) const {
  const auto count = static_cast<size_t>(targets_);
  std::vector<double> result(count, 0);
  std::vector<bool> reached(count, false);
  for (const size_t root : roots_) {
    const Leaf& leaf = leaf_of(root, features);
    double& score = result[leaf.target];
    const bool first = !reached[leaf.target];
    reached[leaf.target] = true;
    switch (aggregate_) {
      case Aggregate::sum: score += leaf.weight; break;
      case Aggregate::average: score += leaf.weight / static_cast<double>(roots_.size()); break;
      case Aggregate::min: score = first ? leaf.weight : std::min(score, leaf.weight); break;
      case Aggregate::max: score = first ? leaf.weight : std::max(score, leaf.weight); break;
    }
  }
  transform(result);
  return result;
}

void TreeEnsemble::transform(std::vector<double>& scores) const {
  switch (transform_) {
    case Transform::none: break;
    case Transform::softmax: softmax(scores, false); break;
    case Transform::softmax_zero: softmax(scores, true); break;
    case Transform::logistic:
      for (double& score : scores) score = 1 / (1 + std::exp(-score));
      break;
    case Transform::probit:
      for (double& score : scores) score = probit(score);
      break;
  }
}

}  // namespace aoe
