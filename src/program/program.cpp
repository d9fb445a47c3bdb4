#include "program/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "expr/rewrite.h"

namespace aoe {
namespace {

template <typename Call, typename Fn>
void for_each_access_of(Call& call, const Fn& visit) {
  if constexpr (std::is_same_v<std::remove_const_t<Call>, NestCall>) {
    for (auto& access : call.buffers) visit(access);
  } else {
    for (auto* access : {&call.left, &call.right, &call.out, &call.sums, &call.prefetch}) {
      visit(*access);
    }
    for (auto& operand : call.operands) visit(operand.at);
  }
}

// Prints a Program, line by line.
class Printer {
 public:
  explicit Printer(const Program& program) : program_(program) {}

  std::string print() {
    for (size_t i = 0; i < program_.buffers.size(); ++i) {
      const ProgramBuffer& buffer = program_.buffers[i];
      std::string where = fmt::format("value %{}", buffer.which);
      if (buffer.place == ProgramBuffer::Place::thread) where = "thread";
      if (buffer.place == ProgramBuffer::Place::weights) where = weights_text(buffer);
      line(fmt::format("@{} {}[{}] {}", i, info(buffer.dtype).brief, buffer.elements, where));
    }
    for (const For& loop : program_.body) {
      // Names of variables restart with each parallel loop.
      first_ = loop.variable;
      add(loop);
    }
    return std::move(text_);
  }

 private:
  void line(const std::string& words) { text_ += margin_ + words + "\n"; }
  std::string name(int variable) const { return text(Expr::axis(variable)); }
  std::string text(const Expr& expr) const {
    if (expr.is_constant()) return std::to_string(expr->id);
    const Expr named = rewrite(expr, [&](const Expr& e) {
      return e->op == ExprOp::axis ? Expr::axis(e->id - first_) : Expr{};
    });
    return to_string(named, static_cast<size_t>(program_.variables));
  }
  std::string text(const Index& index) const { return index ? text(index.expr) : ""; }
  std::string text(const Access& access) const {
    if (access.offset.expr.is_integer(0)) return fmt::format("@{}", access.buffer);
    return fmt::format("@{}[{}]", access.buffer, text(access.offset));
  }
  static std::string if_so(bool so, const std::string& words) { return so ? " " + words : ""; }

  std::string weights_text(const ProgramBuffer& buffer) const {
    const PackedWeights& packed = program_.weights[static_cast<size_t>(buffer.which)];
    return fmt::format("weights of stage {}:{} {} deep, in panels of {}", packed.stage,
                       packed.sums() > 1 ? fmt::format(" {} sums,", packed.sums()) : "",
                       packed.depth,
                       packed.panel > 0 ? std::to_string(packed.panel) : "tiles of rows");
  }

  void add(const Stmt& statement) {
    std::visit([&](const auto& s) { add(s); },
               static_cast<const std::variant<For, NestCall, ProductCall>&>(statement));
  }

  void add(const For& loop) {
    const std::string begin = text(loop.begin) == "0" ? "" : text(loop.begin) + " <= ";
    line(fmt::format("{} {}{}{} < {}{}{}", loop.parallel ? "parallel" : "for", begin,
                     name(loop.variable), loop.chunk_end >= 0 ? ".." + name(loop.chunk_end) : "",
                     text(loop.end), if_so(loop.step > 1, fmt::format("by {}", loop.step)),
                     if_so(loop.grain > 1, fmt::format("grain {}", loop.grain))));
    margin_ += "  ";
    for (const Stmt& inside : loop.body) add(inside);
    margin_.resize(margin_.size() - 2);
  }

  void add(const NestCall& call) {
    std::vector<std::string> buffers;
    for (const Access& access : call.buffers) {
      buffers.push_back(access.buffer < 0 ? "rows" : text(access));
    }
    line(fmt::format("nest {}..{}{} on {}", text(call.first), text(call.last),
                     if_so(static_cast<bool>(call.from),
                           fmt::format("range {}..{}", text(call.from), text(call.to))),
                     fmt::join(buffers, ", ")));
    const std::string nest = to_string(program_.nests[call.nest]);
    for (size_t at = 0; at < nest.size();) {
      const size_t end = nest.find('\n', at);
      line("  " + nest.substr(at, end - at));
      at = end + 1;
    }
  }

  void add(const ProductCall& call) {
    const bool lines = call.line > 0 && call.lines.size() > 1;
    line(
        fmt::format("product {} rows{}{} x {} columns x {} deep, {} first", text(call.rows),
                    if_so(lines, fmt::format("in lines of {}", call.line)),
                    if_so(static_cast<bool>(call.first_tile),
                          fmt::format("tiles {}..{}", text(call.first_tile), text(call.last_tile))),
                    text(call.columns), text(call.depth), call.columns_first ? "columns" : "rows"));
    margin_ += "  ";
    if (call.batch.count > 1) {
      line(fmt::format("batch of {}, {} by {} -> {} apart", call.batch.count, call.batch.left,
                       call.batch.right, call.batch.out));
    }
    line(fmt::format("{}{} by {} -> {}{}{}", text(call.left),
                     if_so(call.tile.pieces, fmt::format("in pieces of {}", call.piece)),
                     text(call.right), text(call.out),
                     if_so(call.sums.buffer >= 0, "sums " + text(call.sums)),
                     if_so(call.prefetch.buffer >= 0, "fetching " + text(call.prefetch))));
    std::vector<std::string> operands;
    for (const ProductCall::Operand& operand : call.operands) operands.push_back(text(operand.at));
    line(fmt::format("{}{}", to_string(call.tile),
                     if_so(!operands.empty(), fmt::format("on {}", fmt::join(operands, ", ")))));
    margin_.resize(margin_.size() - 2);
  }

  const Program& program_;
  int first_ = 0;  // the variable named "a"
  std::string text_, margin_;
};

}  // namespace

void for_each_index(For& loop, const std::function<void(Index&)>& visit) {
  visit(loop.begin);
  visit(loop.end);
  const auto visit_offsets = [&](auto& call) {
    for_each_access_of(call, [&](Access& access) { visit(access.offset); });
  };
  for (Stmt& inside : loop.body) {
    if (auto* call = std::get_if<NestCall>(&inside)) {
      for (Index* index : {&call->first, &call->last, &call->from, &call->to}) visit(*index);
      visit_offsets(*call);
    } else if (auto* product = std::get_if<ProductCall>(&inside)) {
      for (Index* index :
           {&product->rows, &product->first_tile, &product->last_tile, &product->columns,
            &product->depth, &product->first_depth, &product->continues, &product->finishes}) {
        visit(*index);
      }
      visit_offsets(*product);
    } else {
      for_each_index(std::get<For>(inside), visit);
    }
  }
}

void for_each_access(const For& loop, const std::function<void(const Access&)>& visit) {
  for (const Stmt& inside : loop.body) {
    if (const auto* call = std::get_if<NestCall>(&inside)) for_each_access_of(*call, visit);
    if (const auto* call = std::get_if<ProductCall>(&inside)) for_each_access_of(*call, visit);
    if (const auto* nested = std::get_if<For>(&inside)) for_each_access(*nested, visit);
  }
}

std::vector<int> Program::values_of(const For& loop) const {
  std::vector<int> values;
  for_each_access(loop, [&](const Access& access) {
    if (access.buffer < 0) return;
    const ProgramBuffer& buffer = buffers[static_cast<size_t>(access.buffer)];
    if (buffer.place == ProgramBuffer::Place::value) values.push_back(buffer.which);
  });
  return values;
}

std::string to_string(const Tile& tile) {
  std::vector<std::string> operands;
  for (const Tile::Operand& operand : tile.operands) {
    operands.push_back(
        fmt::format("{} {}", info(operand.dtype).brief, operand.by_column ? "columns" : "rows"));
  }
  return fmt::format("tile {} {} {}x{} vectors of {}{}{}{}{}{}{}{} -> {} {} of ({})",
                     info(tile.dtype()).brief, tile.dot.name, tile.rows, tile.vectors, tile.lanes,
                     tile.partial ? " partial" : "", tile.guarded ? " guarded" : "",
                     tile.packed_left ? " packed"
                     : tile.pieces    ? " in pieces"
                                      : "",
                     tile.prefetch      ? " prefetch"
                     : tile.fetch_lines ? " prefetch of lines"
                                        : "",
                     tile.wide_sums ? " split in f64"
                     : tile.split   ? " split"
                                    : "",
                     tile.keeps ? " kept" : "", tile.streaming ? " past the caches" : "",
                     info(tile.out_dtype).brief, to_string(tile.result, 0),
                     fmt::join(operands, ", "));
}

std::string to_string(const Program& program) { return Printer(program).print(); }

}  // namespace aoe
