#pragma once

#include <array>
#include <optional>
#include <vector>

#include "device/device.h"
#include "loop/nest.h"
#include "policy/policy.h"

namespace aoe {

// A convolution by windows of 3 x 3 with channels last, seen as Winograd's algorithm sees it: tiles
// of results, each made of a slightly larger tile of the image. Both are transformed, so that most
// of the work is one product of matrices for each position in a tile.
struct Winograd {
  std::optional<size_t> batch;  // axes of the stage
  size_t y = 0, x = 0, filter = 0;
  size_t tap_y = 0, tap_x = 0, channel = 0;
  int64_t images = 1, height = 0, width = 0;  // of the results
  int64_t channels = 0, filters = 0;
  size_t axes = 0;  // that the stage has
  Expr image;       // the load
  Expr weights;
};

// Nothing if the stage is no such convolution.
std::optional<Winograd> winograd_of(const Workload& workload, const Stage& stage);

// The sides of tiles of results that there are.
inline constexpr std::array<int, 2> kWinogradTiles{2, 4};

// Tiles of all images.
int64_t winograd_tiles(const Winograd& w, int side);

// The side for which a model of the machine expects a clear gain; 0: none.
int default_winograd(const Winograd& w, const Device& device);
// With tiles of a side, whose products take so many cycles if all weights are at hand: weights come
// from afar while others are multiplied, and tiles are transformed.
double winograd_cycles(const Winograd& w, int side, double products, const Device& device);

// Transforms for tiles of results of one side.
struct WinogradTile {
  int side;
  int points;  // positions in a tile of the image, along one side
  // points x 3, points x points, side x points, row by row.
  std::vector<double> weights, image, results;

  explicit WinogradTile(int side);
  int64_t positions() const { return int64_t{points} * points; }
  // For each position in a tile of the image: how often each of the nine taps is in its weights.
  std::vector<double> weight_factors() const;
};

// How tiles lie in a thread's private memory. Rows of tiles are counted over all images.
struct WinogradMemory {
  int64_t rows;     // of tiles, at most
  int64_t columns;  // of filters that are worked on at once
  // Elements from one position in a tile to the next.
  int64_t image_position_stride(const Winograd& w, int side) const;
  int64_t product_position_stride(const Winograd& w, int side) const;
};

// Rows of tiles that are worked on at once: as the policy says, or else so many that what is
// between the transforms stays in the second-level cache.
int64_t winograd_strip(const Winograd& w, int side, const ProductPolicy& policy,
                       const Device& device);

// Brings rows of tiles of the image into the buffer without a value, transformed. Outer points are
// images x rows of tiles.
Nest winograd_image(const Workload& workload, const Winograd& w, const WinogradTile& tile,
                    const WinogradMemory& memory, const Device& device);

// Makes results of products, in the buffer without a value, with what follows a sum. For the rows
// of tiles that are whole, or for the last ones of images, which are not. The ranged axis counts
// blocks of filters.
Nest winograd_results(const Workload& workload, const Stage& stage, const Winograd& w,
                      const WinogradTile& tile, const WinogradMemory& memory, bool whole,
                      const Device& device);

}  // namespace aoe
