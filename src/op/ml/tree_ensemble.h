#pragma once

#include <set>
#include <span>
#include <vector>

#include "op/context.h"

namespace aoe {

// A TreeEnsemble evaluates the decision trees in the attributes of ai.onnx.ml's TreeEnsemble. Each
// tree contributes the weight of one leaf to the score of that leaf's target. All node and leaf
// indexes are checked on construction, so that traversal stays in bounds.
class TreeEnsemble {
 public:
  explicit TreeEnsemble(const OpContext& op);

  int64_t targets() const { return targets_; }
  // Returns one score per target.
  std::vector<double> scores(std::span<const double> features) const;

 private:
  enum class Mode : uint8_t { le, lt, ge, gt, eq, ne, member };
  enum class Aggregate : uint8_t { average, sum, min, max };
  enum class Transform : uint8_t { none, softmax, logistic, softmax_zero, probit };

  struct Branch {
    size_t to = 0;  // index of a node, or of a leaf
    bool leaf = false;
  };
  struct TreeNode {
    Mode mode = Mode::le;
    double split = 0;
    std::set<double> members;
    size_t feature = 0;
    bool missing_is_true = false;
    Branch if_true;
    Branch if_false;
  };
  struct Leaf {
    double weight = 0;
    size_t target = 0;
  };

  void read_members(const OpContext& op);
  bool goes_true(const TreeNode& node, std::span<const double> features) const;
  const Leaf& leaf_of(size_t root, std::span<const double> features) const;
  void transform(std::vector<double>& scores) const;

  int64_t targets_ = 0;
  Aggregate aggregate_ = Aggregate::sum;
  Transform transform_ = Transform::none;
  std::vector<TreeNode> nodes_;
  std::vector<Leaf> leaves_;
  std::vector<size_t> roots_;
};

}  // namespace aoe
