#include "codegen/aside_sums.h"

#include <algorithm>
#include <numeric>

#include "expr/rewrite.h"

namespace aoe {
namespace {

// Whether what a line has outside changes no sum. (With infinite weights it would.)
bool adds_nothing_outside(const Loop& loop, const Expr& line) {
  if (!has_outside(line) || !line->operands.back().is_constant()) return false;
  const Expr& element = loop.elements[0];
  const double outside = line->operands.back()->number;
  if (&*element == &*line) return outside == loop.reducer->identity[0]->number;
  if (!is_sum(*loop.reducer) || element->op != ExprOp::mul || outside != 0) return false;
  const auto is_line = [&](const Expr& e) { return &*e == &*line; };
  return std::count_if(element->operands.begin(), element->operands.end(), is_line) == 1;
}

}  // namespace

AsideSums::AsideSums(PointEmitter& points, const Loop& loop, const Expr& line,
                     Operations operations)
    : points_(points),
      loop_(loop),
      line_(line),
      operations_(std::move(operations)),
      possible_(adds_nothing_outside(loop, line)) {}

bool AsideSums::add(const Point& first, int block, int vectors) {
  if (!possible_ || first.at[static_cast<size_t>(loop_.policy.vector_axis)].base != nullptr) {
    return false;
  }
  lanes_ = first.lanes;
  Point point = first;
  const auto place = points_.place_in_line(line_, point, loop_.extents);
  if (!place || *place % lanes_ == 0) return false;
  std::vector<llvm::Value*>& sums = sums_[{block, *place}];
  sums.resize(static_cast<size_t>(vectors) + 1);
  // What is wanted reaches into one vector more.
  for (int vector = 0; vector <= vectors; ++vector) {
    llvm::Value* part =
        points_.part_of_line(line_, point, floor_div(*place, int64_t{lanes_}) + vector);
    if (part == nullptr) continue;
    llvm::Value*& sum = sums[static_cast<size_t>(vector)];
    if (sum == nullptr) sum = operations_.identity();
    Point whole = first;
    whole.valid = lanes_;
    whole.known[{&*line_, nullptr}] = part;
    operations_.take_in(whole, &sum);
  }
  return true;
}

void AsideSums::move_to(std::vector<llvm::Value*>& accumulators, int vectors,
                        llvm::IRBuilder<>& ir) {
  for (auto& [key, sums] : sums_) {
    const auto& [block, place] = key;
    for (llvm::Value*& sum : sums) {
      if (sum == nullptr) sum = operations_.identity();
    }
    std::vector<int> order(static_cast<size_t>(lanes_));
    std::iota(order.begin(), order.end(),
              static_cast<int>(place - floor_div(place, int64_t{lanes_}) * lanes_));
    for (int vector = 0; vector < vectors; ++vector) {
      const auto v = static_cast<size_t>(vector);
      llvm::Value*& own = accumulators[static_cast<size_t>(block * vectors + vector)];
      own = operations_.combine(own, ir.CreateShuffleVector(sums[v], sums[v + 1], order));
    }
  }
}

}  // namespace aoe
