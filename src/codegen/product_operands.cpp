#include "codegen/product_operands.h"

#include "expr/rewrite.h"

namespace aoe {

Source source_of(const Workload& workload, const Stage& stage, const Contraction& contraction,
                 const Expr& load) {
  const auto matrix = *matrix_load(workload, stage, contraction, load);
  return {workload.storage(matrix.value), matrix, info(load.dtype()).bytes};
}

ProductOperands::ProductOperands(const Workload& workload, const Stage& stage,
                                 const Contraction& contraction) {
  result = rewrite(stage.results[0], [&](const Expr& e) -> Expr {
    if (e->op != ExprOp::load) return {};
    sources.push_back(source_of(workload, stage, contraction, e));
    types.push_back({e.dtype(), sources.back().load.column_stride == 1});
    return Expr::load(static_cast<int64_t>(sources.size()) - 1, e.dtype(), {});
  });
}

}  // namespace aoe
