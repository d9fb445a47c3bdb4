#pragma once

#include <functional>
#include <map>
#include <vector>

#include "codegen/point_emitter.h"

namespace aoe {

// Sums of windows that want a line of memory from elsewhere than where its vectors begin. They add
// up what the line has where vectors begin, and are moved into place at the end: less work than
// moving everything that is added.
class AsideSums {
 public:
  struct Operations {
    std::function<llvm::Value*()> identity;
    // Takes the loop's element at a point into a sum.
    std::function<void(Point&, llvm::Value**)> take_in;
    std::function<llvm::Value*(llvm::Value*, llvm::Value*)> combine;
  };

  // `line` is the load of the loop's element that reads lines.
  AsideSums(PointEmitter& points, const Loop& loop, const Expr& line, Operations operations);

  // One tap of a block whose first vector is at a point. False if it is to be added as it is.
  bool add(const Point& first, int block, int vectors);

  // Every sum, where it belongs: `vectors` for each block.
  void move_to(std::vector<llvm::Value*>& accumulators, int vectors, llvm::IRBuilder<>& ir);

 private:
  PointEmitter& points_;
  const Loop& loop_;
  Expr line_;
  Operations operations_;
  bool possible_;
  int lanes_ = 1;
  // By block, and by the place in the line where the first vector is wanted from; null where
  // nothing was added.
  std::map<std::pair<int, int64_t>, std::vector<llvm::Value*>> sums_;
};

}  // namespace aoe
