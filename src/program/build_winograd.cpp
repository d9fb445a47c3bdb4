#include <algorithm>

#include "policy/contraction.h"
#include "policy/winograd.h"
#include "program/program_builder.h"

// Builds a convolution by Winograd's algorithm (policy/winograd.cpp), a strip of rows of tiles at a
// time, so that transformed tiles and products stay in the second-level cache:
//
//   parallel strip                     # of rows of tiles, in one image
//     nest                             # transforms the image
//     for block of filters
//       batch of products              # for each position: tiles x channels by channels x filters
//       nest, nest                     # results of whole rows of tiles, and of a partial last row

namespace aoe {

For winograd_program(ProgramBuilder& b, const ProductItem& item, const ProductPolicy& policy) {
  const Stage& stage = b.workload.stages[item.stage];
  const Winograd w = *winograd_of(b.workload, stage);
  const WinogradTile tile(item.winograd);
  const int64_t side = tile.side;
  const int64_t wide = int64_t{policy.vectors} * policy.lanes;
  const int64_t per_image = ceil_div(w.height, side);
  const int64_t columns = ceil_div(w.width, side);
  const int64_t whole_rows = w.height / side;
  const int64_t most = winograd_strip(w, tile.side, policy, b.device);
  const WinogradMemory memory{most, wide};
  const int64_t image_position_stride = memory.image_position_stride(w, tile.side);
  const int64_t product_position_stride = memory.product_position_stride(w, tile.side);
  const int64_t each =
      std::min(most, ceil_div(w.images * per_image, std::max<int64_t>(1, b.program.threads)));
  const int64_t strips = ceil_div(per_image, each);

  For loop = b.loop(w.images * strips, true);
  const Expr strip = loop.index();
  const Expr image = w.images == 1 ? Expr::integer(DType::i64, 0) : quotient(strip, strips);
  const Expr first = (w.images == 1 ? strip : remainder(strip, strips)) * each;
  const Expr count =
      per_image % each == 0 ? Expr::integer(DType::i64, each) : min(per_image - first, each);
  const Expr start = image * per_image + first;  // rows of tiles are numbered over all images

  Access transformed = b.thread(DType::f32, tile.positions() * image_position_stride);
  Access products = b.thread(DType::f32, tile.positions() * product_position_stride);
  transformed.offset = 0 - start * (columns * w.channels);
  loop.body.emplace_back(b.nest(winograd_image(b.workload, w, tile, memory, b.device), start,
                                start + count, transformed));

  PackedWeights weights = b.packed(item.stage, *contraction_of(stage), w.weights,
                                   {w.tap_y, w.tap_x, w.channel}, {w.filter});
  weights.depth = w.channels;
  weights.width = w.filters;
  weights.depth_stride = w.filters;
  weights.panel = wide;
  weights.parts.clear();
  for (int64_t tap = 0; tap < 9; ++tap) weights.parts.push_back(tap * w.channels * w.filters);
  weights.factors = tile.weight_transform();

  For blocks = b.loop(w.filters / wide);
  const Expr block = blocks.index();

  ProductCall call = b.product(DType::f32, policy);
  call.rows = count * columns;
  call.columns = wide;
  call.depth = w.channels;
  call.batch = {tile.positions(), image_position_stride, w.channels * wide,
                product_position_stride};
  call.left = {transformed.buffer, 0};
  call.left_row = w.channels;
  call.left_depth = 1;
  call.right = b.weights(DType::f32, std::move(weights));
  call.right.offset = block * (tile.positions() * w.channels * wide);
  call.right_depth = wide;
  call.out = {products.buffer, 0};
  call.out_row = wide;
  if (policy.prefetch) {
    call.prefetch = {call.right.buffer, call.right.offset.expr + w.channels * wide};
  }
  b.add_tiles(call, {each * columns, per_image % each * columns}, {wide});
  blocks.body.emplace_back(std::move(call));

  const auto add_results = [&](bool whole, const Expr& from, const Expr& to) {
    products.offset = 0 - start * (columns * wide);
    NestCall results = b.nest(winograd_results(b.workload, stage, w, tile, memory, whole, b.device),
                              from, to, products);
    results.from = block;
    results.to = block + 1;
    blocks.body.emplace_back(std::move(results));
  };
  if (w.height >= side) {
    const Expr rows = image * whole_rows;
    add_results(true, rows + first, rows + min(first + count, whole_rows));
  }
  if (w.height % side != 0) {
    // One row for each image, computed in its last strip.
    const Expr last = image + max(first + count - whole_rows, 0);
    add_results(false, image, last);
  }
  loop.body.emplace_back(std::move(blocks));
  return loop;
}

}  // namespace aoe
