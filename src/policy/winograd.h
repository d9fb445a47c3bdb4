#pragma once

#include <array>
#include <optional>
#include <vector>

#include "device/device.h"
#include "loop/nest.h"
#include "policy/policy.h"

namespace aoe {

// A 3 x 3 convolution with channels last to which Winograd's F(m x m, 3 x 3) applies: m x m tiles
// of results are computed from (m+2) x (m+2) tiles of the image. Image, weights and results are
// transformed, and the rest is one matrix product for each position in a tile. `side` is m
// everywhere.
struct Winograd {
  std::optional<size_t> batch;  // this and the next six: axes of the stage
  size_t y = 0, x = 0, filter = 0;
  size_t tap_y = 0, tap_x = 0, channel = 0;
  int64_t images = 1, height = 0, width = 0;  // sizes of the results
  int64_t channels = 0, filters = 0;
  size_t axes = 0;  // number of axes of the stage
  Expr image;       // the load of the image
  Expr weights;
};

// Returns nothing if the stage is no such convolution.
std::optional<Winograd> winograd_of(const Workload& workload, const Stage& stage);

// The values of m that are implemented.
inline constexpr std::array<int, 2> kWinogradTiles{2, 4};

// Number of tiles of all images.
int64_t winograd_tiles(const Winograd& w, int side);

// The m for which the machine model expects a clear gain over the direct convolution; 0: none.
int default_winograd(const Winograd& w, const Device& device);
// Estimated cycles with tiles of a side: transforms, plus products or the fetching of weights,
// whichever takes longer. `products`: cycles of the products with all weights in the caches.
double winograd_cycles(const Winograd& w, int side, double products, const Device& device);

// The transform matrices of F(m x m, 3 x 3).
struct WinogradTile {
  int side;
  int points;  // m + 2, the side of an image tile
  // G (points x 3), B^T (points x points) and A^T (side x points), row-major.
  std::vector<double> g, b_t, a_t;

  explicit WinogradTile(int side);
  int64_t positions() const { return int64_t{points} * points; }
  // For each position in an image tile, the factors of the nine taps in its transformed weight.
  std::vector<double> weight_transform() const;
};

// The layout of transformed tiles and products in memory private to a thread. Rows of tiles are
// numbered over all images.
struct WinogradMemory {
  int64_t rows;     // most rows of tiles
  int64_t columns;  // filters of a block
  // Elements from one position in a tile to the next.
  int64_t image_position_stride(const Winograd& w, int side) const;
  int64_t product_position_stride(const Winograd& w, int side) const;
};

// Rows of tiles that are processed at once: the policy's, or as many as keep the transformed tiles
// and products in the second-level cache.
int64_t winograd_strip(const Winograd& w, int side, const ProductPolicy& policy,
                       const Device& device);

// The nest that transforms image tiles (B^T d B) into its buffer without a value. Outer points are
// images x rows of tiles.
Nest winograd_image(const Workload& workload, const Winograd& w, const WinogradTile& tile,
                    const WinogradMemory& memory, const Device& device);

// The nest that transforms products (A^T M A), from its buffer without a value, into results and
// applies the epilogue: for the rows of tiles that are `whole`, or for the last row of each image,
// which is not. The ranged axis counts blocks of filters.
Nest winograd_results(const Workload& workload, const Stage& stage, const Winograd& w,
                      const WinogradTile& tile, const WinogradMemory& memory, bool whole,
                      const Device& device);

}  // namespace aoe
