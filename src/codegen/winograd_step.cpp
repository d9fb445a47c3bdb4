#include "codegen/winograd_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "codegen/fixed_side.h"
#include "codegen/jit.h"
#include "codegen/nest_emitter.h"
#include "codegen/row_tiles.h"
#include "codegen/step.h"
#include "codegen/tile.h"

namespace aoe {
namespace {

// For some rows of tiles at a time: the image is transformed, then for one block of filters after
// the other all products are made, and of them the results. What lies between stays in the caches.
class WinogradStep : public Kernel::Step {
 public:
  WinogradStep(const Workload& workload, const Stage& stage, int side, const ProductPolicy& policy,
               const Device& device, const std::vector<Tensor>& weights)
      : stage_(stage),
        w_(*winograd_of(workload, stage)),
        tile_(side),
        policy_(policy),
        device_(device),
        rows_(w_.images * ceil_div(w_.height, int64_t{side})),
        columns_(ceil_div(w_.width, int64_t{side})),
        memory_{1, int64_t{policy.vectors} * policy.lanes} {
    // Transformed image and products of so many rows stay in the second-level cache.
    const int64_t room = std::max<int64_t>(device.caches[1].bytes, 256 << 10) * 6 / 10;
    const int64_t row = tile_.positions() * columns_ * (w_.channels + memory_.columns) * 4;
    memory_.rows = std::clamp<int64_t>(room / row, 1, rows_ / w_.images);
    transform_weights(workload, weights);
    image_ = compiled(winograd_image(workload, w_, tile_, memory_, device), device);
    if (w_.height >= side) {
      whole_ =
          compiled(winograd_results(workload, stage, w_, tile_, memory_, true, device), device);
    }
    if (w_.height % side != 0) {
      last_ =
          compiled(winograd_results(workload, stage, w_, tile_, memory_, false, device), device);
    }
    Tile product;
    product.vectors = policy.vectors;
    product.lanes = policy.lanes;
    product.prefetch = policy.prefetch;
    product.result = Expr::arg(0, DType::f32);
    for (int rows = 1; rows <= policy.rows; ++rows) {
      product.rows = rows;
      products_.push_back(product);
      codes_.push_back(compile(to_string(product), device, [product, device](llvm::Module& module) {
        emit_tile(module, product, device);
      }));
    }
  }

  bool run(const StepRun& run) const override {
    const int64_t per_image = rows_ / w_.images;
    const int64_t each = std::min(memory_.rows, ceil_div(rows_, std::max<int64_t>(1, run.threads)));
    const int64_t blocks = ceil_div(per_image, each);
    share_work(run, w_.images * blocks, 1, work_bytes(),
               [&](int64_t first, int64_t last, std::byte* work) {
                 for (int64_t b = first; b < last; ++b) {
                   const int64_t start = b % blocks * each;
                   run_rows(run, b / blocks, start, std::min(per_image, start + each), work);
                 }
               });
    return true;
  }

  int64_t work_bytes() const override {
    return table_bytes() + image_bytes() +
           aligned_work(tile_.positions() * memory_.product_step(w_, tile_.side) * 4);
  }

  std::vector<int> values() const override {
    std::vector<int> values;
    for (const CompiledNest* part : {&image_, &whole_, &last_}) {
      for (const NestBuffer& buffer : part->nest.buffers) {
        if (buffer.value >= 0) values.push_back(buffer.value);
      }
    }
    return values;
  }

  std::string text() const override {
    std::string text = fmt::format(
        "winograd {} x {} tiles of {} x {} results, {} channels, {} filters\n"
        "  tiles of {} rows x {} vectors of {}, {} rows of tiles at a time{}\n",
        rows_, columns_, tile_.side, tile_.side, w_.channels, w_.filters, policy_.rows,
        policy_.vectors, policy_.lanes, memory_.rows, policy_.prefetch ? ", prefetched" : "");
    for (const CompiledNest* part : {&image_, &whole_, &last_}) {
      if (part->code) text += to_string(part->nest);
    }
    return text + to_string(products_.back()) + "\n";
  }

  std::vector<Part> parts() const override {
    std::vector<Part> parts;
    for (const CompiledNest* part : {&image_, &whole_, &last_}) {
      if (!part->code) continue;
      parts.push_back({part->code, [this, part](llvm::Module& module) {
                         emit_nest(module, part->nest, device_);
                       }});
    }
    for (size_t i = 0; i < codes_.size(); ++i) {
      parts.push_back({codes_[i], [this, i](llvm::Module& module) {
                         emit_tile(module, products_[i], device_);
                       }});
    }
    return parts;
  }

 private:
  // For each block of filters and each position in a tile: channels x filters, as products want it.
  void transform_weights(const Workload& workload, const std::vector<Tensor>& weights) {
    const FixedSide plain =
        fixed_side(workload, stage_, *contraction_of(stage_), w_.weights,
                   {w_.tap_y, w_.tap_x, w_.channel}, {w_.filter}, device_, weights);
    const auto* const from = plain.elements.data<float>();
    weights_ = Tensor(DType::f32, {tile_.positions() * w_.channels * w_.filters});
    auto* const to = weights_.data<float>();
    const auto n = static_cast<size_t>(tile_.points);
    const int64_t wide = memory_.columns;
    std::vector<double> half(n * 3);
    for (int64_t c = 0; c < w_.channels; ++c) {
      for (int64_t k = 0; k < w_.filters; ++k) {
        for (size_t i = 0; i < n; ++i) {
          for (size_t s = 0; s < 3; ++s) {
            double sum = 0;
            for (size_t r = 0; r < 3; ++r) {
              const auto at = (static_cast<int64_t>(r * 3 + s) * w_.channels + c) * w_.filters + k;
              sum += tile_.weights[i * 3 + r] * from[at];
            }
            half[i * 3 + s] = sum;
          }
        }
        for (size_t i = 0; i < n; ++i) {
          for (size_t j = 0; j < n; ++j) {
            double sum = 0;
            for (size_t s = 0; s < 3; ++s) sum += tile_.weights[j * 3 + s] * half[i * 3 + s];
            const int64_t p = static_cast<int64_t>(i * n + j);
            to[((k / wide * tile_.positions() + p) * w_.channels + c) * wide + k % wide] =
                static_cast<float>(sum);
          }
        }
      }
    }
  }

  int64_t table_bytes() const {
    const size_t most = std::max(
        {image_.nest.buffers.size(), whole_.nest.buffers.size(), last_.nest.buffers.size()});
    return aligned_work(static_cast<int64_t>(most * sizeof(void*)));
  }
  int64_t image_bytes() const {
    return aligned_work(tile_.positions() * memory_.image_step(w_, tile_.side) * 4);
  }

  // `own` is where the buffer without a value begins; nests count from the first row of all.
  void call(const CompiledNest& part, const StepRun& run, void** buffers, void* own, int64_t first,
            int64_t last, int64_t block) const {
    for (size_t i = 0; i < part.nest.buffers.size(); ++i) {
      const int value = part.nest.buffers[i].value;
      buffers[i] = value < 0 ? own : run.values[static_cast<size_t>(value)];
    }
    const int64_t range[] = {first, last, block, block + 1};
    part.code->as<NestFunction>()(buffers, range, nullptr);
  }

  void run_rows(const StepRun& run, int64_t image, int64_t first, int64_t last,
                std::byte* work) const {
    const int64_t per_image = rows_ / w_.images;
    const int64_t whole_rows = w_.height / tile_.side;
    const int64_t start = image * per_image + first;
    auto** const buffers = reinterpret_cast<void**>(work);
    auto* const transformed = reinterpret_cast<float*>(work + table_bytes());
    auto* const products = reinterpret_cast<float*>(work + table_bytes() + image_bytes());
    call(image_, run, buffers, transformed - start * columns_ * w_.channels, start,
         image * per_image + last, 0);
    const int64_t wide = memory_.columns;
    for (int64_t block = 0; block < w_.filters / wide; ++block) {
      multiply(block, (last - first) * columns_, transformed, products);
      float* const own = products - start * columns_ * wide;
      const int64_t end = std::min(last, whole_rows);
      if (first < end) {
        call(whole_, run, buffers, own, image * whole_rows + first, image * whole_rows + end,
             block);
      }
      if (last > whole_rows) call(last_, run, buffers, own, image, image + 1, block);
    }
  }

  void multiply(int64_t block, int64_t rows, const float* image, float* products) const {
    const int64_t wide = memory_.columns;
    const RowTiles tiles(rows, rows, policy_.rows);
    TileCall call{};
    call.depth = w_.channels;
    call.left_row = w_.channels;
    call.left_depth = 1;
    call.right_depth = wide;
    call.out_row = wide;
    // Each tile fetches its share of the next weights.
    call.prefetch_step = wide * 4 / tiles.count;
    const auto* right = weights_.data<float>() + block * tile_.positions() * w_.channels * wide;
    for (int64_t p = 0; p < tile_.positions(); ++p, right += w_.channels * wide) {
      const float* left = image + p * memory_.image_step(w_, tile_.side);
      float* out = products + p * memory_.product_step(w_, tile_.side);
      const auto place = [&](TilePlace& at, int64_t t) {
        at.left = left + tiles.first(t) * w_.channels;
        at.right = right;
        at.out = out + tiles.first(t) * wide;
        at.prefetch = reinterpret_cast<const std::byte*>(right + w_.channels * wide) +
                      t * call.prefetch_step * w_.channels;
      };
      call_tiles(call, tiles, place, [&](int height) -> const Code& {
        return *codes_[static_cast<size_t>(height - 1)];
      });
    }
  }

  const Stage& stage_;
  Winograd w_;
  WinogradTile tile_;
  ProductPolicy policy_;
  Device device_;
  int64_t rows_;     // of tiles, in all images
  int64_t columns_;  // of tiles
  WinogradMemory memory_;
  Tensor weights_;
  CompiledNest image_;
  CompiledNest whole_;
  CompiledNest last_;
  std::vector<Tile> products_;  // by rows
  std::vector<std::shared_ptr<const Code>> codes_;
};

}  // namespace

std::unique_ptr<Kernel::Step> winograd_step(const Workload& workload, const Stage& stage, int side,
                                            const ProductPolicy& policy, const Device& device,
                                            const std::vector<Tensor>& weights) {
  return std::make_unique<WinogradStep>(workload, stage, side, policy, device, weights);
}

}  // namespace aoe
