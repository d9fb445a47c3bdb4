#include "codegen/product_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "codegen/fixed_side.h"
#include "codegen/jit.h"
#include "codegen/nest_emitter.h"
#include "codegen/product_operands.h"
#include "codegen/row_tiles.h"
#include "codegen/tile.h"
#include "policy/contraction.h"
#include "policy/loop_defaults.h"
#include "policy/packing.h"
#include "policy/product_sharing.h"
#include "policy/schedule.h"

namespace aoe {
namespace {

// Packed columns are read in whole vectors, so the last ones may be followed by this many.
constexpr int64_t kSlack = 256;

class ProductStep : public Kernel::Step {
 public:
  ProductStep(const Workload& workload, const Stage& stage, const ProductPolicy& policy,
              const Device& device, const std::vector<Tensor>& weights)
      : workload_(workload),
        stage_(stage),
        extents_(stage.extents()),
        c_(*contraction_of(stage)),
        operands_(workload, stage, c_),
        shape_(product_shape(workload, stage, c_)),
        policy_(policy),
        device_(device),
        bytes_(info(shape_.dtype).bytes),
        tiles_(shape_.rows, shape_.line, policy.rows) {
    width_ = int64_t{policy_.vectors} * policy_.lanes;
    if (shape_.left == Side::fixed) pack_left(weights);
    else walk_left();
    if (shape_.right == Side::fixed) pack_right(weights);
    else if (shape_.right == Side::direct) right_ = source_of(workload, stage, c_, c_.right);
    else make_packing();
    describe_tile();
    compile_tiles();
    place_tiles();
  }

  bool run(const StepRun& run) const override {
    const ProductSharing by = product_sharing(shape_, policy_, tiles_.count, run.threads);
    const int64_t blocks = ceil_div(shape_.columns, by.columns);
    const int64_t tasks = shape_.outer * by.row_parts * blocks;
    share_work(
        run, tasks, by.grain, work_bytes(), [&](int64_t first, int64_t last, std::byte* work) {
          for (int64_t task = first; task < last; ++task) {
            const int64_t column = task % blocks * by.columns;
            const int64_t part = task / blocks % by.row_parts;
            run_block(
                run, task / blocks / by.row_parts, column,
                std::min(by.columns, shape_.columns - column),
                {tiles_.count * part / by.row_parts, tiles_.count * (part + 1) / by.row_parts},
                work);
          }
        });
    return true;
  }

  int64_t work_bytes() const override {
    const int64_t sums = tile_.split ? shape_.rows * policy_.columns * bytes_ : 0;
    return table_bytes() + packed_bytes() + aligned_work(packing_.row_bytes()) + aligned_work(sums);
  }

  std::vector<Part> parts() const override {
    std::vector<Part> parts;
    if (packing_code_) {
      parts.push_back(
          {packing_code_, [this](llvm::Module& module) { emit_nest(module, packing_, device_); }});
    }
    const auto add = [&](const Codes& codes, bool streaming) {
      for (const auto& [key, code] : codes) {
        const auto [rows, vectors, partial] = key;
        Tile tile = tile_of(rows, vectors, partial);
        tile.streaming = streaming;
        parts.push_back(
            {code, [this, tile](llvm::Module& module) { emit_tile(module, tile, device_); }});
      }
    };
    add(codes_, false);
    add(streaming_codes_, true);
    return parts;
  }

  std::vector<int> values() const override {
    std::vector<int> values{workload_.storage(stage_.outputs[0])};
    if (shape_.left == Side::direct) values.push_back(workload_.storage(left_.value));
    if (shape_.right == Side::direct) values.push_back(right_.value);
    for (const Source& operand : operands_.sources) values.push_back(operand.value);
    for (const NestBuffer& buffer : packing_.buffers) {
      if (buffer.value >= 0) values.push_back(buffer.value);
    }
    return values;
  }

  std::string text() const override {
    const auto side = [](Side s) {
      return s == Side::fixed ? "laid out once" : s == Side::direct ? "direct" : "packed";
    };
    std::string text = fmt::format(
        "product {} x {} rows x {} columns x {} deep, {}\n  left {}, right {}\n"
        "  tiles of {} rows x {} vectors of {}, blocks of {} columns x {} deep, {} first{}{}\n",
        shape_.outer, shape_.rows, shape_.columns, shape_.depth, info(shape_.dtype).brief,
        side(shape_.left), side(shape_.right), policy_.rows, policy_.vectors, policy_.lanes,
        policy_.columns, policy_.depth, policy_.columns_first ? "columns" : "rows",
        policy_.prefetch ? ", next columns prefetched" : "",
        policy_.streaming ? ", past the caches" : "");
    if (shape_.right == Side::packed) text += to_string(packing_);
    return text + to_string(tile_) + "\n";
  }

 private:
  struct RowRange {
    int64_t first, last;  // tiles
  };
  struct PlacedTile {
    int64_t row, left;  // the first
    int height;
    int64_t alike;  // the end of those alike
  };

  // --- what is known before it runs -------------------------------------------------------------

  void walk_left() {
    left_ = *walk_of(workload_, stage_, c_, c_.left);
    left_bytes_ = info(c_.left.dtype()).bytes;
    left_row_ = left_.rows.empty() ? 0 : left_.rows.back().stride;
    left_depth_ = left_.depth.empty() ? 0 : left_.depth.back().stride;
    const auto positions = [](const std::vector<Level>& levels) {
      std::vector<int64_t> starts{0};
      for (size_t i = 0; i + 1 < levels.size(); ++i) {
        std::vector<int64_t> finer;
        for (const int64_t start : starts) {
          for (int64_t p = 0; p < levels[i].extent; ++p) {
            finer.push_back(start + p * levels[i].stride);
          }
        }
        starts = std::move(finer);
      }
      return starts;
    };
    lines_ = positions(left_.rows);
    pieces_ = positions(left_.depth);
  }

  void pack_left(const std::vector<Tensor>& weights) {
    const FixedSide plain =
        fixed_side(workload_, stage_, c_, c_.left, c_.rows, c_.depth, device_, weights);
    fixed_left_steps_ = plain.outer_steps;
    fixed_left_ = Tensor(shape_.dtype, {plain.elements.count()});
    dispatch(shape_.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const int64_t size = shape_.rows * shape_.depth;
      T* to = fixed_left_.data<T>();
      for (int64_t m = 0; m < plain.elements.count() / size; ++m) {
        for (int64_t tile = 0; tile < tiles_.count; ++tile) {
          const T* from = plain.elements.data<T>() + m * size + tiles_.first(tile) * shape_.depth;
          for (int64_t k = 0; k < shape_.depth; ++k) {
            for (int row = 0; row < tiles_.height(tile); ++row) {
              *to++ = from[row * shape_.depth + k];
            }
          }
        }
      }
    });
  }

  void pack_right(const std::vector<Tensor>& weights) {
    const FixedSide side =
        fixed_side(workload_, stage_, c_, c_.right, c_.depth, c_.columns, device_, weights);
    const Tensor& plain = side.elements;
    fixed_right_steps_ = side.outer_steps;
    const int64_t size = shape_.columns * shape_.depth;
    const int64_t panels = ceil_div(shape_.columns, width_);
    fixed_right_size_ = panels * shape_.depth * width_;
    const int64_t matrices = plain.count() / size;
    fixed_right_ = Tensor::zeros({shape_.dtype, {matrices * fixed_right_size_}});
    for (int64_t m = 0; m < matrices; ++m) {
      for (int64_t k = 0; k < shape_.depth; ++k) {
        for (int64_t panel = 0; panel < panels; ++panel) {
          const int64_t count = std::min(width_, shape_.columns - panel * width_);
          std::memcpy(fixed_right_.raw() +
                          (m * fixed_right_size_ + (panel * shape_.depth + k) * width_) * bytes_,
                      plain.raw() + (m * size + k * shape_.columns + panel * width_) * bytes_,
                      static_cast<size_t>(count * bytes_));
        }
      }
    }
  }

  void make_packing() {
    pitch_ = ceil_div(policy_.columns, policy_.lanes) * policy_.lanes;
    constexpr int64_t kPage = 4096;
    // Rows a page apart would all want the same places of the first-level cache.
    if (pitch_ * bytes_ % kPage == 0) pitch_ += policy_.lanes;
    Packing packing = packing_of(workload_, stage_, c_, pitch_);
    packs_by_rows_ = packing.by_rows;
    NestPolicy loops = choose_loops(packing.nest, device_);
    // What is packed is read at once.
    for (LoopPolicy& policy : loops.loops) policy.streaming = false;
    packing_ = decided(std::move(packing.nest), loops);
    packing_code_ = compile(to_string(packing_), device_,
                            [&](llvm::Module& module) { emit_nest(module, packing_, device_); });
  }

  void describe_tile() {
    tile_.dtype = shape_.dtype;
    tile_.rows = tiles_.height(0);
    tile_.vectors = policy_.vectors;
    tile_.lanes = policy_.lanes;
    tile_.packed_left = shape_.left == Side::fixed;
    tile_.pieces = pieces_.size() > 1;
    tile_.fetch_lines = policy_.prefetch && (shape_.right == Side::direct || tiles_.count == 1);
    tile_.prefetch = policy_.prefetch && !tile_.fetch_lines;
    tile_.split = policy_.depth < shape_.depth;
    tile_.out_dtype = workload_.values[static_cast<size_t>(stage_.outputs[0])].type.dtype;
    tile_.result = operands_.result;
    tile_.operands = operands_.types;
  }

  // The tiles that cover a block of columns, from left to right: so many alike, and what is left.
  template <typename Fn>
  void for_each_width(int64_t columns, const Fn& fn) const {
    const int64_t whole = columns / width_;
    if (whole > 0) fn(0, whole, policy_.vectors, 0);
    const int64_t rest = columns - whole * width_;
    if (rest == 0) return;
    fn(whole * width_, 1, static_cast<int>(ceil_div(rest, policy_.lanes)), rest % policy_.lanes);
  }

  std::shared_ptr<const Code> compiled(const Tile& tile) const {
    return compile(to_string(tile), device_,
                   [&](llvm::Module& module) { emit_tile(module, tile, device_); });
  }

  // Results may go past the caches if every vector of them is aligned, given that the first is.
  bool streams() const {
    const int64_t vector = int64_t{policy_.lanes} * info(tile_.out_dtype).bytes;
    return policy_.streaming && vector == device_.vector_bytes &&
           shape_.columns % policy_.lanes == 0 && policy_.columns % policy_.lanes == 0;
  }

  Tile tile_of(int rows, int vectors, bool partial) const {
    Tile tile = tile_;
    tile.rows = rows;
    tile.vectors = vectors;
    tile.partial = partial;
    tile.guarded = partial && shape_.right == Side::direct;
    return tile;
  }

  void compile_tiles() {
    for (const int64_t columns : {policy_.columns, shape_.columns % policy_.columns}) {
      for_each_width(columns, [&](int64_t, int64_t, int vectors, int64_t partial) {
        for (const int rows : {tiles_.height(0), tiles_.height(tiles_.count - 1)}) {
          auto& code = codes_[{rows, vectors, partial != 0}];
          if (code) continue;
          Tile tile = tile_of(rows, vectors, partial != 0);
          code = compiled(tile);
          if (!streams()) continue;
          tile.streaming = true;
          streaming_codes_[{rows, vectors, partial != 0}] = compiled(tile);
        }
      });
    }
  }

  // Where tiles of rows begin, and how many follow each that one call can run with it: as high and
  // at even distances.
  void place_tiles() {
    for (int64_t t = 0; t < tiles_.count; ++t) {
      const int64_t row = tiles_.first(t);
      const int height = tiles_.height(t);
      const int64_t left = shape_.left == Side::fixed
                               ? row * shape_.depth
                               : lines_[static_cast<size_t>(t / tiles_.per_line)] +
                                     tiles_.first_in_line(t) * left_row_;
      placed_.push_back({row, left, height, t + 1});
    }
    for (size_t t = placed_.size(); t-- > 1;) {
      PlacedTile& before = placed_[t - 1];
      const PlacedTile& at = placed_[t];
      if (before.height != at.height) continue;
      before.alike = static_cast<int64_t>(t) + 1;
      if (t + 1 == placed_.size()) continue;
      const PlacedTile& after = placed_[t + 1];
      if (after.height == at.height && after.row - at.row == at.row - before.row &&
          after.left - at.left == at.left - before.left) {
        before.alike = at.alike;
      }
    }
  }

  // --- while it runs ----------------------------------------------------------------------------

  int64_t packed_bytes() const {
    return shape_.right == Side::packed ? aligned_work((policy_.depth * pitch_ + kSlack) * bytes_)
                                        : 0;
  }
  int64_t table_bytes() const {
    return aligned_work(static_cast<int64_t>(packing_.buffers.size() * sizeof(void*)));
  }

  // The outer axes' positions times their steps, summed.
  int64_t along_outer(int64_t outer, const std::vector<int64_t>& steps) const {
    int64_t sum = 0;
    for (size_t i = c_.outer.size(); i-- > 0;) {
      sum += outer % extents_[c_.outer[i]] * steps[i];
      outer /= extents_[c_.outer[i]];
    }
    return sum;
  }

  const std::byte* start_of(const Source& source, const StepRun& run, int64_t outer) const {
    return static_cast<const std::byte*>(run.values[static_cast<size_t>(source.value)]) +
           (source.load.base + along_outer(outer, source.load.outer_strides)) * source.bytes;
  }
  const std::byte* start_of_left(const StepRun& run, int64_t outer) const {
    const auto value = static_cast<size_t>(workload_.storage(left_.value));
    return static_cast<const std::byte*>(run.values[value]) +
           (left_.base + along_outer(outer, left_.outer_strides)) * left_bytes_;
  }

  void pack_block(const StepRun& run, int64_t outer, int64_t depth, int64_t depth_count,
                  int64_t column, int64_t column_count, void** buffers, std::byte* packed) const {
    for (size_t i = 0; i < packing_.buffers.size(); ++i) {
      const int value = packing_.buffers[i].value;
      // The nest counts from the beginning of the whole, the block begins here.
      buffers[i] = value < 0 ? packed - (depth * pitch_ + column) * bytes_
                             : run.values[static_cast<size_t>(value)];
    }
    const int64_t windows = shape_.depth / shape_.depth_step;
    const int64_t first = outer * windows + depth / shape_.depth_step;
    const int64_t last = first + depth_count / shape_.depth_step;
    const int64_t from = column / shape_.column_step;
    const int64_t to = (column + column_count) / shape_.column_step;
    auto* const pack = packing_code_->as<NestFunction>();
    if (!packs_by_rows_) {
      const int64_t range[] = {first, last, from, to};
      pack(buffers, range, nullptr);
      return;
    }
    const int64_t strips = shape_.columns / shape_.column_step;
    for (int64_t window = first; window < last; ++window) {
      const int64_t range[] = {window * strips + from, window * strips + to};
      pack(buffers, range, packed + packed_bytes());
    }
  }

  // What a tile of columns from `first` on fetches for later. `next` is the next matrix.
  void fetch_ahead(TileCall& call, TilePlace& place, int64_t first, const std::byte* next) const {
    const auto* right = static_cast<const std::byte*>(place.right);
    const int64_t line = width_ * bytes_;
    // A little further on in what lies in one piece, or the next matrix from its start to its end,
    // or the columns beside these.
    constexpr int64_t kSteps = 4;
    constexpr int64_t kLargestMatrix = 256 << 10;
    const bool small = shape_.depth * shape_.columns * bytes_ <= kLargestMatrix;
    call.prefetch_step = line;
    if (shape_.right == Side::fixed) {
      place.prefetch = right + kSteps * line;
    } else if (small) {
      place.prefetch = next + first * shape_.depth * bytes_;
    } else {
      place.prefetch = right + line;
      call.prefetch_step = call.right_depth * bytes_;
    }
  }

  void run_block(const StepRun& run, int64_t outer, int64_t column, int64_t columns, RowRange rows,
                 std::byte* work) const {
    // A thread's memory: the list of what is packed, the packed block, rows it is made of, sums.
    std::byte* const packed = work + table_bytes();
    std::byte* const sums = packed + packed_bytes() + aligned_work(packing_.row_bytes());
    TileCall call{};
    call.left_depth = left_depth_;
    call.left_row = left_row_;
    call.out_row = shape_.columns;
    call.sums_row = policy_.columns;
    call.right_depth = shape_.right == Side::fixed    ? width_
                       : shape_.right == Side::direct ? right_.load.depth_stride
                                                      : pitch_;
    const std::byte* left = shape_.left == Side::direct
                                ? start_of_left(run, outer)
                                : fixed_left_.raw() + along_outer(outer, fixed_left_steps_) *
                                                          shape_.rows * shape_.depth * bytes_;
    const std::byte* right =
        shape_.right == Side::direct ? start_of(right_, run, outer) + column * bytes_
        : shape_.right == Side::fixed
            ? fixed_right_.raw() + (along_outer(outer, fixed_right_steps_) * fixed_right_size_ +
                                    column * shape_.depth) *
                                       bytes_
            : packed;
    const std::byte* next_right = nullptr;
    if (shape_.right == Side::direct) {
      next_right = start_of(right_, run, std::min(outer + 1, shape_.outer - 1));
    }
    const int64_t out_bytes = info(tile_.out_dtype).bytes;
    auto* out = static_cast<std::byte*>(
                    run.values[static_cast<size_t>(workload_.storage(stage_.outputs[0]))]) +
                (outer * shape_.rows * shape_.columns + column) * out_bytes;
    const bool aligned =
        reinterpret_cast<uintptr_t>(out) % static_cast<uintptr_t>(device_.vector_bytes) == 0;
    const Codes& codes = aligned && streams() ? streaming_codes_ : codes_;
    std::array<const std::byte*, kMostProductOperands> operands;
    for (size_t i = 0; i < operands_.sources.size(); ++i) {
      const Source& operand = operands_.sources[i];
      operands[i] =
          start_of(operand, run, outer) + column * operand.load.column_stride * operand.bytes;
      call.operand_row[i] = operand.load.row_stride;
    }

    for (int64_t depth = 0; depth < shape_.depth; depth += policy_.depth) {
      call.depth = std::min(policy_.depth, shape_.depth - depth);
      call.continues = depth > 0 ? 1 : 0;
      call.finishes = depth + call.depth == shape_.depth ? 1 : 0;
      call.piece = shape_.depth_step;
      call.pieces = pieces_.data() + depth / shape_.depth_step;
      if (shape_.right == Side::packed) {
        pack_block(run, outer, depth, call.depth, column, columns, reinterpret_cast<void**>(work),
                   packed);
      }
      const auto place = [&](TilePlace& at, int64_t tile, int64_t first) {
        const PlacedTile& rows_at = placed_[static_cast<size_t>(tile)];
        const int64_t before = shape_.left == Side::fixed ? depth * rows_at.height
                               : pieces_.size() > 1       ? 0
                                                          : depth * left_depth_;
        at.left = left + (rows_at.left + before) * bytes_;
        if (shape_.right == Side::fixed) {
          at.right = right + (first * shape_.depth + depth * width_) * bytes_;
        } else {
          const int64_t skipped = shape_.right == Side::direct ? depth * call.right_depth : 0;
          at.right = right + (skipped + first) * bytes_;
        }
        at.out = out + (rows_at.row * shape_.columns + first) * out_bytes;
        at.sums = sums + (rows_at.row * policy_.columns + first) * bytes_;
        for (size_t i = 0; i < operands_.sources.size(); ++i) {
          const Source& source = operands_.sources[i];
          at.operands[i] = operands[i] + (rows_at.row * source.load.row_stride +
                                          first * source.load.column_stride) *
                                             source.bytes;
        }
        if (tile_.fetch_lines) {
          fetch_ahead(call, at, first, next_right);
        } else if (tile_.prefetch) {
          // Each row tile fetches its share of the next columns.
          const int64_t share = width_ * bytes_ / (rows.last - rows.first);
          at.prefetch = static_cast<const std::byte*>(at.right) + (shape_.depth * width_) * bytes_ +
                        (tile - rows.first) * share * call.depth;
          call.prefetch_step = share;
        }
      };
      // So many, one below the other or side by side.
      const auto run_tiles = [&](int64_t tile, int64_t first, int64_t count, int vectors,
                                 int64_t partial) {
        call.tiles = count;
        call.columns = partial;
        place(call.first, tile, first);
        if (count > 1 && policy_.columns_first) place(call.second, tile + 1, first);
        if (count > 1 && !policy_.columns_first) place(call.second, tile, first + width_);
        const int height = placed_[static_cast<size_t>(tile)].height;
        codes.at({height, vectors, partial != 0})->as<TileFunction>()(&call);
      };
      if (policy_.columns_first) {
        for_each_width(columns, [&](int64_t start, int64_t count, int vectors, int64_t partial) {
          for (int64_t first = start; first < start + count * width_; first += width_) {
            for (int64_t t = rows.first, end = t; t < rows.last; t = end) {
              end = std::min(rows.last, placed_[static_cast<size_t>(t)].alike);
              run_tiles(t, first, end - t, vectors, partial);
            }
          }
        });
      } else {
        for (int64_t t = rows.first; t < rows.last; ++t) {
          for_each_width(columns, [&](int64_t first, int64_t count, int vectors, int64_t partial) {
            run_tiles(t, first, count, vectors, partial);
          });
        }
      }
    }
  }

  const Workload& workload_;
  const Stage& stage_;
  Shape extents_;
  Contraction c_;
  ProductOperands operands_;
  ProductShape shape_;
  ProductPolicy policy_;
  Device device_;
  int64_t bytes_;
  RowTiles tiles_;
  int64_t width_ = 0;

  Walk left_;
  int64_t left_bytes_ = 0;
  int64_t left_row_ = 0;
  int64_t left_depth_ = 0;
  std::vector<int64_t> lines_;   // where lines of rows begin
  std::vector<int64_t> pieces_;  // and pieces of the depth
  Source right_;
  Tensor fixed_left_;
  Tensor fixed_right_;
  std::vector<int64_t> fixed_left_steps_;
  std::vector<int64_t> fixed_right_steps_;
  int64_t fixed_right_size_ = 0;

  int64_t pitch_ = 0;
  Nest packing_;
  bool packs_by_rows_ = false;
  std::shared_ptr<const Code> packing_code_;
  std::vector<PlacedTile> placed_;
  Tile tile_;
  using Codes = std::map<std::tuple<int, int, bool>, std::shared_ptr<const Code>>;
  Codes codes_;
  Codes streaming_codes_;
};

}  // namespace

std::unique_ptr<Kernel::Step> product_step(const Workload& workload, const Stage& stage,
                                           const ProductPolicy& policy, const Device& device,
                                           const std::vector<Tensor>& weights) {
  return std::make_unique<ProductStep>(workload, stage, policy, device, weights);
}

}  // namespace aoe
