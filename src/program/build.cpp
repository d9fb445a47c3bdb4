#include <algorithm>
#include <cassert>

#include "device/machine_model.h"
#include "expr/rewrite.h"
#include "program/program_builder.h"

// Builds a Program from the items of a schedule. Each item is a separate parallel loop, except that
// the items of a strip loop share one. In reading order: nests and strips; the helpers of
// ProgramBuilder; index arithmetic; build_program, which calls the builder of each item. The other
// builders are in build_product.cpp, build_winograd.cpp and build_strassen.cpp.
//
// Invariant: statements refer to buffers, nests and tiles by index. A value has one buffer, and
// nests or tiles with the same text are stored once. Offsets count from the beginning of the whole
// value; where a buffer holds one strip of it (make_private), the base address is shifted back.

namespace aoe {
namespace {

For nest_program(ProgramBuilder& builder, const Nest& nest) {
  int64_t iterations = 0;
  for (const Loop& loop : nest.loops) iterations += element_count(loop.extents);
  const int64_t points = nest.points();
  const int64_t each = std::max<int64_t>(1, iterations / std::max<int64_t>(1, points));
  For loop = builder.loop(points, true);
  loop.chunk_end = builder.program.variables++;
  loop.grain = std::max<int64_t>(1, machine::kPointsWorthSharing / each);
  loop.body = {builder.nest(nest, loop.index(), Expr::axis(loop.chunk_end))};
  return loop;
}

// Adds an item to a strip loop, which the first item creates.
void add_to_strips(ProgramBuilder& builder, For& loop, const Schedule& schedule,
                   const Policy& policy, size_t item) {
  const StripLoop& strips = schedule.strip_loops[static_cast<size_t>(schedule.loop_of[item])];
  if (!loop.parallel) {
    loop = builder.loop(strips.points, true);
    for (const int value : strips.values) {
      const int64_t each = builder.workload.values[static_cast<size_t>(value)].type.count() /
                           std::max<int64_t>(1, strips.points);
      builder.make_private(value, each, 0 - loop.index() * each);
    }
  }
  const Expr point = loop.index();
  if (const auto* nest = std::get_if<Nest>(&schedule.items[item])) {
    const Nest whole = decided(*nest, std::get<NestPolicy>(policy.items[item]));
    const int64_t each = whole.points() / strips.points;
    loop.body.emplace_back(builder.nest(whole, point * each, point * each + each));
    return;
  }
  const auto& product = std::get<ProductItem>(schedule.items[item]);
  const auto& item_policy = std::get<ProductPolicy>(policy.items[item]);
  for (Stmt& stmt : product_in_strip(builder, product, item_policy, {point, strips.points})) {
    loop.body.push_back(std::move(stmt));
  }
}

// Returns the index in `all` of an element with the same text; adds it if there is none.
template <typename T>
size_t index_of(const T& one, std::map<std::string, size_t>& known, std::vector<T>& all,
                std::vector<std::string>& texts) {
  const auto [found, fresh] = known.emplace(to_string(one), all.size());
  if (fresh) {
    all.push_back(one);
    texts.push_back(found->first);
  }
  return found->second;
}

}  // namespace

For ProgramBuilder::loop(Index end, bool parallel) {
  For loop;
  loop.variable = program.variables++;
  loop.end = std::move(end);
  loop.parallel = parallel;
  return loop;
}

ProductCall ProgramBuilder::product(DType dtype, const ProductPolicy& policy) const {
  ProductCall call;
  call.tile.dot = *dot_of(dtype, device);
  assert(call.tile.dot.depth == 1 && "panels are not interleaved");
  call.tile.rows = policy.rows;
  call.tile.vectors = policy.vectors;
  call.tile.lanes = policy.lanes;
  call.tile.prefetch = policy.prefetch;
  call.tile.result = Expr::arg(0, dtype);
  return call;
}

PackedWeights ProgramBuilder::packed(size_t stage, const Contraction& c, const Expr& side,
                                     const std::vector<size_t>& rows,
                                     const std::vector<size_t>& columns) {
  PackedWeights packed;
  packed.stage = stage;
  packed.side = side;
  packed.outer = c.outer;
  packed.rows = rows;
  packed.columns = columns;
  return packed;
}

int ProgramBuilder::add(ProgramBuffer buffer) {
  program.buffers.push_back(buffer);
  return static_cast<int>(program.buffers.size()) - 1;
}

Access ProgramBuilder::value(int value) {
  const int storage = workload.storage(value);
  const auto known = values_.find(storage);
  if (known != values_.end()) return known->second;
  const TensorType& type = workload.values[static_cast<size_t>(storage)].type;
  return values_[storage] = {add({ProgramBuffer::Place::value, type.dtype, type.count(), storage})};
}

void ProgramBuilder::make_private(int value, int64_t elements, const Expr& offset) {
  const int storage = workload.storage(value);
  Access access = thread(workload.values[static_cast<size_t>(storage)].type.dtype, elements);
  access.offset = offset;
  values_[storage] = access;
}

Access ProgramBuilder::thread(DType dtype, int64_t elements) {
  return {add({ProgramBuffer::Place::thread, dtype, elements})};
}

Access ProgramBuilder::weights(DType dtype, PackedWeights packed) {
  int64_t elements = packed.elements();
  for (const size_t axis : packed.outer) {
    if (depends_on_axis(packed.side, static_cast<int64_t>(axis)))
      elements *= workload.stages[packed.stage].axes[axis];
  }
  program.weights.push_back(std::move(packed));
  return {add({ProgramBuffer::Place::weights, dtype, elements,
               static_cast<int>(program.weights.size()) - 1})};
}

NestCall ProgramBuilder::nest(const Nest& nest, Index first, Index last, const Access& scratch) {
  NestCall call;
  call.nest = index_of(nest, nests_, program.nests, program.nest_texts);
  call.first = std::move(first);
  call.last = std::move(last);
  const auto streams = [](const Loop& loop) { return loop.policy.streaming; };
  if (std::any_of(nest.loops.begin(), nest.loops.end(), streams)) {
    Nest plain = nest;
    for (Loop& loop : plain.loops) loop.policy.streaming = false;
    call.plain = static_cast<int>(index_of(plain, nests_, program.nests, program.nest_texts));
  }
  for (const NestBuffer& buffer : nest.buffers) {
    call.buffers.push_back(buffer.row         ? Access{}
                           : buffer.value < 0 ? scratch
                                              : value(buffer.value));
  }
  return call;
}

void ProgramBuilder::add_tiles(ProductCall& call, const std::vector<int64_t>& rows,
                               const std::vector<int64_t>& columns) {
  const auto add_one = [&](int height, int vectors, bool partial, bool streaming) {
    const auto same = [&](const ProductCall::Variant& v) {
      return v.rows == height && v.vectors == vectors && v.partial == partial &&
             v.streaming == streaming;
    };
    if (std::any_of(call.variants.begin(), call.variants.end(), same)) return;
    Tile tile = call.tile;
    tile.rows = height;
    tile.vectors = vectors;
    tile.partial = partial;
    tile.guarded = partial && call.tile.guarded;
    tile.streaming = streaming;
    const size_t index = index_of(tile, tiles_, program.tiles, program.tile_texts);
    call.variants.push_back({height, vectors, partial, streaming, index});
  };
  for (const int64_t count : rows) {
    if (count == 0) continue;
    const RowTiles tiles(count, call.line > 0 ? call.line : count, call.tile.rows);
    for (const int height : {tiles.height(0), tiles.height(tiles.count - 1)}) {
      for (const int64_t wide : columns) {
        const int64_t rest = wide % call.tile.width();
        for (const bool streaming : {false, true}) {
          if (streaming && !call.tile.streaming) continue;
          if (wide >= call.tile.width()) add_one(height, call.tile.vectors, false, streaming);
          if (rest == 0) continue;
          const auto vectors = static_cast<int>(ceil_div(rest, int64_t{call.tile.lanes}));
          add_one(height, vectors, rest % call.tile.lanes != 0, streaming);
        }
      }
    }
  }
}

void ProgramBuilder::add_result(ProductCall& call, const Stage& stage, const Contraction& c,
                                const Expr& outer, const Expr& column) {
  call.tile.result = rewrite(stage.results[0], [&](const Expr& e) -> Expr {
    if (e->op != ExprOp::load) return {};
    const MatrixLoad load = *matrix_load(workload, stage, c, e);
    ProductCall::Operand operand{value(load.value), load.row_stride, load.column_stride};
    operand.at.offset = operand.at.offset.expr + load.base +
                        along(outer, stage.axes, c.outer, load.outer_strides) +
                        column * load.column_stride;
    call.operands.push_back(operand);
    call.tile.operands.push_back({e.dtype(), load.column_stride == 1});
    return Expr::load(static_cast<int64_t>(call.operands.size()) - 1, e.dtype(), {});
  });
  call.tile.out_dtype = workload.values[static_cast<size_t>(stage.outputs[0])].type.dtype;
}

int64_t padded_pitch(int64_t elements, DType dtype, int64_t padding) {
  constexpr int64_t kPage = 4096;
  return elements * info(dtype).bytes % kPage == 0 ? elements + padding : elements;
}

Expr quotient(const Expr& number, int64_t by) {
  if (by == 1) return number;
  return number.is_constant() ? Expr::integer(DType::i64, number->id / by) : number / by;
}

Expr remainder(const Expr& number, int64_t by) {
  if (by == 1) return Expr::integer(DType::i64, 0);
  return number.is_constant() ? Expr::integer(DType::i64, number->id % by) : mod(number, by);
}

Expr along(const Expr& count, const Shape& extents, const std::vector<size_t>& axes,
           const std::vector<int64_t>& strides) {
  Expr sum = Expr::integer(DType::i64, 0);
  Expr rest = count;
  for (size_t i = axes.size(); i-- > 0;) {
    // Axes that are contiguous with each other have one stride.
    const int64_t stride = strides[i];
    int64_t extent = extents[axes[i]];
    while (i > 0 && strides[i - 1] == stride * extent) extent *= extents[axes[--i]];
    if (stride != 0) sum = sum + (i == 0 ? rest : remainder(rest, extent)) * stride;
    if (i > 0) rest = quotient(rest, extent);
  }
  return sum;
}

Program build_program(const Schedule& schedule, const Policy& policy, const Device& device,
                      int threads) {
  ProgramBuilder builder(schedule, device, threads);
  std::map<int, For> strips;
  for (size_t i = 0; i < schedule.items.size(); ++i) {
    if (const int loop = schedule.loop_of[i]; loop >= 0) {
      add_to_strips(builder, strips[loop], schedule, policy, i);
      // The loop is added with its last item: items between its items that are not in the loop run
      // before it.
      const auto rest = schedule.loop_of.begin() + static_cast<int64_t>(i) + 1;
      if (std::find(rest, schedule.loop_of.end(), loop) == schedule.loop_of.end()) {
        builder.program.body.push_back(std::move(strips[loop]));
      }
      continue;
    }
    if (const auto* nest = std::get_if<Nest>(&schedule.items[i])) {
      const auto& item_policy = std::get<NestPolicy>(policy.items[i]);
      builder.program.body.push_back(nest_program(builder, decided(*nest, item_policy)));
      continue;
    }
    const auto& item = std::get<ProductItem>(schedule.items[i]);
    const auto& item_policy = std::get<ProductPolicy>(policy.items[i]);
    builder.program.body.push_back(item.winograd != 0 ? winograd_program(builder, item, item_policy)
                                   : item.strassen    ? strassen_program(builder, item, item_policy)
                                                   : product_program(builder, item, item_policy));
  }
  return std::move(builder.program);
}

}  // namespace aoe
