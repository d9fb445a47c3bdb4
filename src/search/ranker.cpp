#include "search/ranker.h"

#include <xgboost/c_api.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "base/error.h"

namespace aoe {
namespace {

// Least number of samples for predictions.
constexpr size_t kFewest = 4;
// Cap of shares: how bad a bad policy is does not matter. Failed policies get the same share.
constexpr double kWorstShare = 4;
constexpr int kRounds = 40;
// Trees are trained again once new samples exceed 1 / kStaleOf of those they were trained on, to
// save time; in the beginning that is after each sample.
constexpr size_t kStaleOf = 12;

void check(int status) {
  if (status != 0) fail("XGBoost: {}", XGBGetLastError());
}

using Rows = std::vector<const std::vector<float>*>;

// The columns in which rows differ. With few workloads most columns are constant, and each costs
// training time.
std::vector<size_t> telling(const Rows& rows) {
  std::vector<size_t> columns;
  for (size_t c = 0; c < rows[0]->size(); ++c) {
    const float first = (*rows[0])[c];
    const bool differ = std::any_of(rows.begin(), rows.end(), [&](const auto* row) {
      return (*row)[c] != first && !(std::isnan((*row)[c]) && std::isnan(first));
    });
    if (differ) columns.push_back(c);
  }
  return columns;
}

// An XGBoost matrix of some columns of rows of features.
class Matrix {
 public:
  Matrix(const Rows& rows, const std::vector<size_t>& columns) {
    std::vector<float> all;
    all.reserve(rows.size() * columns.size());
    for (const auto* row : rows) {
      for (const size_t column : columns) all.push_back((*row)[column]);
    }
    check(XGDMatrixCreateFromMat(all.data(), rows.size(), columns.size(), NAN, &handle_));
  }
  ~Matrix() { XGDMatrixFree(handle_); }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;

  DMatrixHandle handle() const { return handle_; }

 private:
  DMatrixHandle handle_ = nullptr;
};

}  // namespace

class Ranker::Trees {
 public:
  explicit Trees(const std::vector<Sample>& samples) {
    Rows rows;
    std::vector<float> targets;
    for (const Sample& one : samples) {
      rows.push_back(&one.features);
      targets.push_back(one.target);
    }
    columns_ = telling(rows);
    if (columns_.empty()) return;  // all samples have equal features
    const Matrix matrix(rows, columns_);
    check(XGDMatrixSetFloatInfo(matrix.handle(), "label", targets.data(), targets.size()));
    const DMatrixHandle handle = matrix.handle();
    check(XGBoosterCreate(&handle, 1, &booster_));
    const std::pair<const char*, const char*> settings[] = {
        {"objective", "reg:squarederror"}, {"base_score", "0"},  // as fast as the baseline
        {"tree_method", "exact"},          {"max_depth", "5"},  {"eta", "0.2"}, {"lambda", "0.5"},
        {"min_child_weight", "1"},         {"nthread", "1"},    {"seed", "0"},  {"verbosity", "0"},
    };
    for (const auto& [name, value] : settings) check(XGBoosterSetParam(booster_, name, value));
    for (int round = 0; round < kRounds; ++round) {
      check(XGBoosterUpdateOneIter(booster_, round, matrix.handle()));
    }
  }

  ~Trees() {
    if (booster_ != nullptr) XGBoosterFree(booster_);
  }
  Trees(const Trees&) = delete;
  Trees& operator=(const Trees&) = delete;

  std::vector<double> expected(const std::vector<std::vector<float>>& rows) const {
    if (booster_ == nullptr) return std::vector<double>(rows.size());
    Rows pointers;
    for (const auto& row : rows) pointers.push_back(&row);
    const Matrix matrix(pointers, columns_);
    const float* values = nullptr;
    bst_ulong count = 0;
    check(XGBoosterPredict(booster_, matrix.handle(), 0, 0, 0, &count, &values));
    assert(count == rows.size());
    return {values, values + count};
  }

 private:
  std::vector<size_t> columns_;
  BoosterHandle booster_ = nullptr;
};

Ranker::Ranker() = default;
Ranker::~Ranker() = default;

void Ranker::add(std::vector<float> features, double share) {
  const double target = std::log2(std::min(share, kWorstShare));
  samples_.push_back({std::move(features), static_cast<float>(target)});
}

std::vector<double> Ranker::expected(const std::vector<std::vector<float>>& rows) {
  if (rows.empty() || samples_.size() < kFewest) return std::vector<double>(rows.size());
  if (trees_ == nullptr || samples_.size() - learnt_ > learnt_ / kStaleOf) {
    trees_ = std::make_unique<const Trees>(samples_);
    learnt_ = samples_.size();
  }
  return trees_->expected(rows);
}

}  // namespace aoe
