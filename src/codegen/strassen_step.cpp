#include "codegen/strassen_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "codegen/fixed_side.h"
#include "codegen/nest_emitter.h"
#include "codegen/product_operands.h"
#include "codegen/row_tiles.h"
#include "codegen/step.h"
#include "codegen/tile.h"
#include "expr/rewrite.h"
#include "policy/strassen.h"

namespace aoe {
namespace {

// Even rows that are worked on at once, at most: their sums and what lies between stay
// near, and weights come often enough to be worth it.
constexpr int64_t kMostRows = 128;

constexpr int kKept = 5;  // products that several results need

// One of the seven, in an order in which what is added is there.
struct Multiplication {
  enum Left { sum0, sum1, sum2, sum3, sum4, even_left, odd_right };
  Left left;
  std::array<int, 4> right;  // how often each quarter of the weights is in their sum
  bool even;                 // for all even rows, or for those that have an odd one beside them
  int kept;                  // as which product it is kept; -1: it is not
  std::vector<int> added;    // to it, for a result: kept products, a third one is subtracted
  int quarter;               // of the results, row by row; -1: none
};

const std::array<Multiplication, 7>& multiplications() {
  using M = Multiplication;
  static const std::array<Multiplication, 7> all{{
      {M::sum0, {1, 0, 0, 1}, true, 0, {}, -1},
      {M::sum1, {1, 0, 0, 0}, false, 1, {}, -1},
      {M::even_left, {0, 1, 0, -1}, true, 2, {}, -1},
      {M::sum3, {1, 1, 0, 0}, false, -1, {0, 2, 1}, 3},
      {M::odd_right, {-1, 0, 1, 0}, false, 3, {1}, 2},
      {M::sum2, {0, 0, 0, 1}, true, 4, {2}, 1},
      {M::sum4, {0, 0, 1, 1}, true, -1, {0, 3, 4}, 0},
  }};
  return all;
}

class StrassenStep : public Kernel::Step {
 public:
  StrassenStep(const Workload& workload, const Stage& stage, const ProductPolicy& policy,
               const Device& device, const std::vector<Tensor>& weights)
      : policy_(policy),
        device_(device),
        c_(*contraction_of(stage)),
        left_(source_of(workload, stage, c_, c_.left)),
        operands_(workload, stage, c_),
        out_(workload.storage(stage.outputs[0])),
        out_dtype_(workload.values[static_cast<size_t>(stage.outputs[0])].type.dtype),
        evens_(ceil_div(c_.row_count, 2)),
        odds_(c_.row_count / 2),
        depth_(c_.depth_count / 2),
        columns_(c_.column_count / 2),
        width_(int64_t{policy.vectors} * policy.lanes) {
    blocks_ = ceil_div(evens_, kMostRows);
    block_ = ceil_div(evens_, blocks_);
    constexpr int64_t kPage = 1024;
    // Rows a page apart would all want the same places of the first-level cache.
    pitch_ = depth_ + (depth_ % kPage == 0 ? 16 : 0);
    lay_out_weights(workload, stage, weights);
    const ProductShape shape = product_shape(workload, stage, c_);
    for (const bool alone : {false, true}) {
      if (alone && odds_ == evens_) continue;
      sums_.push_back(compiled(
          strassen_sums(workload, left_.load, shape, alone, pitch_, block_ * pitch_, device),
          device));
    }
    for (int64_t first = 0; first < evens_; first += block_) {
      for (const Multiplication& m : multiplications()) {
        const int64_t rows = rows_of(m, first);
        if (rows == 0) continue;
        const RowTiles tiles(rows, rows, policy_.rows);
        for (const int64_t t : {int64_t{0}, tiles.count - 1}) compile_tile(m, tiles.height(t));
      }
    }
  }

  bool run(const StepRun& run) const override {
    const int64_t panels = columns_ / width_;
    const int64_t parts = std::min<int64_t>(panels, ceil_div(run.threads, blocks_));
    share_work(run, blocks_ * parts, 1, work_bytes(),
               [&](int64_t first, int64_t last, std::byte* work) {
                 for (int64_t task = first; task < last; ++task) {
                   const int64_t part = task % parts;
                   run_block(run, task / parts * block_, panels * part / parts,
                             panels * (part + 1) / parts, work);
                 }
               });
    return true;
  }

  int64_t work_bytes() const override { return kTableBytes + sums_bytes() + kKept * kept_bytes(); }

  std::vector<int> values() const override {
    std::vector<int> values{out_, left_.value};
    for (const Source& source : operands_.sources) values.push_back(source.value);
    return values;
  }

  std::string text() const override {
    std::string text = fmt::format(
        "strassen 7 products of {} rows x {} columns x {} deep\n"
        "  tiles of {} rows x {} vectors of {}, {} rows at a time{}\n",
        evens_, columns_, depth_, policy_.rows, policy_.vectors, policy_.lanes, block_,
        policy_.prefetch ? ", prefetched" : "");
    for (const CompiledNest& sums : sums_) text += to_string(sums.nest);
    for (const auto& [key, tile] : tiles_) text += to_string(tile.tile) + "\n";
    return text;
  }

  std::vector<Part> parts() const override {
    std::vector<Part> parts;
    for (const CompiledNest& sums : sums_) {
      parts.push_back({sums.code, [this, &sums](llvm::Module& module) {
                         emit_nest(module, sums.nest, device_);
                       }});
    }
    for (const auto& [key, tile] : tiles_) {
      parts.push_back({tile.code, [this, &tile = tile](llvm::Module& module) {
                         emit_tile(module, tile.tile, device_);
                       }});
    }
    return parts;
  }

 private:
  struct CompiledTile {
    Tile tile;
    std::shared_ptr<const Code> code;
  };
  static constexpr int64_t kTableBytes = kWorkAlignment;  // two buffers

  int64_t sums_bytes() const { return aligned_work(kStrassenSums * block_ * pitch_ * 4); }
  int64_t kept_bytes() const { return aligned_work(block_ * width_ * 4); }

  // --- what is known before it runs -------------------------------------------------------------

  // For each panel of columns the sums of the seven products, one after the other.
  void lay_out_weights(const Workload& workload, const Stage& stage,
                       const std::vector<Tensor>& weights) {
    const FixedSide plain =
        fixed_side(workload, stage, c_, c_.right, c_.depth, c_.columns, device_, weights);
    const auto* const from = plain.elements.data<float>();
    weights_ = Tensor(DType::f32, {7 * depth_ * columns_});
    auto* to = weights_.data<float>();
    for (int64_t panel = 0; panel < columns_; panel += width_) {
      for (const Multiplication& m : multiplications()) {
        for (int64_t k = 0; k < depth_; ++k) {
          for (int64_t i = 0; i < width_; ++i) {
            float sum = 0;
            for (int64_t q = 0; q < 4; ++q) {
              if (m.right[static_cast<size_t>(q)] == 0) continue;
              const float weight =
                  from[(q / 2 * depth_ + k) * 2 * columns_ + q % 2 * columns_ + panel + i];
              sum += static_cast<float>(m.right[static_cast<size_t>(q)]) * weight;
            }
            *to++ = sum;
          }
        }
      }
    }
  }

  // Tiles differ in what they add to their sums: nothing, then these are all that is stored.
  void compile_tile(const Multiplication& m, int rows) {
    CompiledTile& compiled = tiles_[{m.added.size(), rows}];
    if (compiled.code) return;
    Tile& tile = compiled.tile;
    tile.rows = rows;
    tile.vectors = policy_.vectors;
    tile.lanes = policy_.lanes;
    tile.prefetch = policy_.prefetch;
    if (m.added.empty()) {
      tile.result = Expr::arg(0, DType::f32);
    } else {
      tile.keeps = m.kept >= 0;
      tile.out_dtype = out_dtype_;
      tile.operands = operands_.types;
      Expr sum = Expr::arg(0, DType::f32);
      for (size_t i = 0; i < m.added.size(); ++i) {
        const auto load = Expr::load(static_cast<int64_t>(tile.operands.size()), DType::f32, {});
        tile.operands.push_back({DType::f32, true});
        sum = i == 2 ? sum - load : sum + load;
      }
      tile.result = rewrite(operands_.result,
                            [&](const Expr& e) { return e->op == ExprOp::arg ? sum : Expr{}; });
    }
    compiled.code = compile(to_string(tile), device_,
                            [&](llvm::Module& module) { emit_tile(module, tile, device_); });
  }

  // --- while it runs ----------------------------------------------------------------------------

  // Of a block that begins with that row.
  int64_t rows_of(const Multiplication& m, int64_t first) const {
    const int64_t all = m.even ? evens_ : odds_;
    return std::clamp<int64_t>(all - first, 0, block_);
  }

  void run_block(const StepRun& run, int64_t first, int64_t panel, int64_t last_panel,
                 std::byte* work) const {
    auto** const buffers = reinterpret_cast<void**>(work);
    auto* const sums = reinterpret_cast<float*>(work + kTableBytes);
    auto* const kept = reinterpret_cast<float*>(work + kTableBytes + sums_bytes());
    buffers[0] = run.values[static_cast<size_t>(left_.value)];
    buffers[1] = sums - first * pitch_;  // nests count from the first row of all
    const int64_t end = std::min(evens_, first + block_);
    const int64_t paired = std::min(odds_, end);
    const int64_t range[] = {first, paired, 0, 1};
    if (first < paired) sums_[0].code->as<NestFunction>()(buffers, range, nullptr);
    if (paired < end) {
      const int64_t rest[] = {paired, end, 0, 1};
      sums_[1].code->as<NestFunction>()(buffers, rest, nullptr);
      // The products of the odd row that is not there.
      for (int k = 0; k < kKept; ++k) {
        std::memset(kept_at(kept, k) + (paired - first) * width_, 0,
                    static_cast<size_t>(width_) * 4);
      }
    }
    for (; panel < last_panel; ++panel) {
      const float* right = weights_.data<float>() + panel * 7 * depth_ * width_;
      for (const Multiplication& m : multiplications()) {
        multiply(run, m, first, panel * width_, sums, kept, right);
        right += depth_ * width_;
      }
    }
  }

  float* kept_at(float* kept, int which) const { return kept + which * (kept_bytes() / 4); }

  void multiply(const StepRun& run, const Multiplication& m, int64_t first, int64_t column,
                const float* sums, float* kept, const float* right) const {
    const int64_t rows = rows_of(m, first);
    if (rows == 0) return;
    const RowTiles tiles(rows, rows, policy_.rows);
    const bool odd = m.quarter >= 2;
    const int64_t row = 2 * first + (odd ? 1 : 0);  // of the results; every other one follows
    const int64_t at = column + (m.quarter % 2 == 1 ? columns_ : 0);
    TileCall call{};
    call.depth = depth_;
    call.left_row = m.left <= Multiplication::sum4 ? pitch_ : 2 * left_.load.row_stride;
    call.left_depth = 1;
    call.right_depth = width_;
    call.sums_row = width_;
    const float* const left = left_of(run, m.left, first, sums);
    const bool result = m.quarter >= 0;
    const int64_t out_bytes = result ? info(out_dtype_).bytes : 4;
    call.out_row = result ? 4 * columns_ : width_;
    auto* const out = result ? static_cast<std::byte*>(run.values[static_cast<size_t>(out_)]) +
                                   (row * 2 * columns_ + at) * out_bytes
                             : reinterpret_cast<std::byte*>(kept_at(kept, m.kept));
    const size_t own = result ? operands_.sources.size() : 0;
    std::array<const std::byte*, kMostTileOperands> operands{};
    for (size_t i = 0; i < own; ++i) {
      const Source& source = operands_.sources[i];
      operands[i] =
          static_cast<const std::byte*>(run.values[static_cast<size_t>(source.value)]) +
          (source.load.base + row * source.load.row_stride + at * source.load.column_stride) *
              source.bytes;
      call.operand_row[i] = 2 * source.load.row_stride;
    }
    for (size_t i = 0; i < m.added.size(); ++i) {
      operands[own + i] = reinterpret_cast<const std::byte*>(kept_at(kept, m.added[i]));
      call.operand_row[own + i] = width_;
    }
    // Each tile fetches its share of the next weights.
    call.prefetch_step = width_ * 4 / tiles.count;
    const auto place = [&](TilePlace& to, int64_t t) {
      const int64_t r = tiles.first(t);
      to.left = left + r * call.left_row;
      to.right = right;
      to.out = out + r * call.out_row * out_bytes;
      to.sums = m.kept >= 0 ? kept_at(kept, m.kept) + r * width_ : nullptr;
      to.prefetch = reinterpret_cast<const std::byte*>(right + depth_ * width_) +
                    t * call.prefetch_step * depth_;
      for (size_t i = 0; i < own + m.added.size(); ++i) {
        const int64_t bytes = i < own ? operands_.sources[i].bytes : 4;
        to.operands[i] = operands[i] + r * call.operand_row[i] * bytes;
      }
    };
    call_tiles(call, tiles, place, [&](int height) -> const Code& {
      return *tiles_.at({m.added.size(), height}).code;
    });
  }

  const float* left_of(const StepRun& run, Multiplication::Left which, int64_t first,
                       const float* sums) const {
    if (which <= Multiplication::sum4) return sums + static_cast<int64_t>(which) * block_ * pitch_;
    const auto* value =
        static_cast<const float*>(run.values[static_cast<size_t>(left_.value)]) + left_.load.base;
    const bool odd = which == Multiplication::odd_right;
    return value + (2 * first + (odd ? 1 : 0)) * left_.load.row_stride + (odd ? depth_ : 0);
  }

  ProductPolicy policy_;
  Device device_;
  Contraction c_;
  Source left_;
  ProductOperands operands_;
  int out_;
  DType out_dtype_;
  int64_t evens_, odds_;  // rows
  int64_t depth_, columns_;
  int64_t width_;
  int64_t blocks_ = 1;  // of even rows
  int64_t block_ = 0;
  int64_t pitch_ = 0;
  Tensor weights_;
  std::vector<CompiledNest> sums_;  // of pairs of rows, and of a single one
  std::map<std::pair<size_t, int>, CompiledTile> tiles_;
};

}  // namespace

std::unique_ptr<Kernel::Step> strassen_step(const Workload& workload, const Stage& stage,
                                            const ProductPolicy& policy, const Device& device,
                                            const std::vector<Tensor>& weights) {
  return std::make_unique<StrassenStep>(workload, stage, policy, device, weights);
}

}  // namespace aoe
