#include "op/context.h"
#include "op/families.h"

namespace aoe {
namespace {

// Common parts of DepthToSpace and SpaceToDepth, which move elements between channels and blocks of
// rows and columns. The position in the block is the outer (DCR) or the inner (CRD) part of the
// channel.
struct Blocks {
  Operand x;
  int64_t size;
  bool position_first;

  explicit Blocks(OpContext& op) : x(op.movable(0)), size(op.integer("blocksize")) {
    require(x.rank() == 4, "an input of shape {}; [N, C, H, W] is expected", to_string(x.shape));
    require(size > 0, "blocksize is {}", size);
    const std::string mode = op.text("mode", "DCR");
    require(mode == "DCR" || mode == "CRD", "mode is '{}'; DCR or CRD are expected", mode);
    position_first = mode == "DCR";
  }

  // Channels split into block row, block column and the remaining depth, in the order of the mode.
  Shape split(int64_t depth) const {
    return position_first ? Shape{size, size, depth} : Shape{depth, size, size};
  }
};

void depth_to_space(OpContext& op) {
  const Blocks blocks(op);
  const Shape& s = blocks.x.shape;
  const int64_t size = blocks.size;
  const int64_t depth = s[1] / checked_mul(size, size);
  require(depth * size * size == s[1], "a depth of {} cannot be divided into {} x {}", s[1], size,
          size);
  const Shape parts = blocks.split(depth);
  const Operand x = op.reshape(blocks.x, {s[0], parts[0], parts[1], parts[2], s[2], s[3]});
  const Operand y = op.compute({s[0], depth, s[2], size, s[3], size}, [&](const Axes& o) {
    return blocks.position_first ? x({o[0], o[3], o[5], o[1], o[2], o[4]})
                                 : x({o[0], o[1], o[3], o[5], o[2], o[4]});
  });
  op.out(op.reshape(y, {s[0], depth, checked_mul(s[2], size), checked_mul(s[3], size)}));
}

void space_to_depth(OpContext& op) {
  const Blocks blocks(op);
  const Shape& s = blocks.x.shape;
  const int64_t size = blocks.size;
  require(s[2] % size == 0 && s[3] % size == 0, "{} x {} cannot be divided into blocks of {}", s[2],
          s[3], size);
  const Operand x = op.reshape(blocks.x, {s[0], s[1], s[2] / size, size, s[3] / size, size});
  const Shape parts = blocks.split(s[1]);
  const Operand y = op.compute(
      {s[0], parts[0], parts[1], parts[2], s[2] / size, s[3] / size}, [&](const Axes& o) {
        return blocks.position_first ? x({o[0], o[3], o[4], o[1], o[5], o[2]})
                                     : x({o[0], o[1], o[4], o[2], o[5], o[3]});
      });
  op.out(
      op.reshape(y, {s[0], checked_mul(s[1], checked_mul(size, size)), s[2] / size, s[3] / size}));
}

}  // namespace

const OpTable& vision_operators() {
  static const OpTable table{
      {"DepthToSpace", 1, depth_to_space},
      {"SpaceToDepth", 1, space_to_depth},
  };
  return table;
}

}  // namespace aoe
