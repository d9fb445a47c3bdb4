#include "base/numerics.h"

#include <algorithm>

#include "base/error.h"

namespace aoe {

void ImplMode::check() const {
  require(mode.empty() || mode == "high_precision" || mode == "high_performance",
          "op_select_implmode is '{}'; high_precision or high_performance is expected", mode);
  require(
      op_types.empty() || !mode.empty(),
      "optypelist_for_implmode lists operators, but op_select_implmode says nothing about them: "
      "high_precision or high_performance is expected");
  require(!allow_strassen || mode != "high_precision" || !op_types.empty(),
          "allow_strassen contradicts op_select_implmode=high_precision, which excludes Strassen's "
          "algorithm for all operators");
}

Numerics ImplMode::numerics_of(std::string_view op_type) const {
  const bool listed =
      op_types.empty() || std::find(op_types.begin(), op_types.end(), op_type) != op_types.end();
  if (mode == "high_precision" && listed) return Numerics::direct;
  return allow_strassen ? Numerics::strassen : Numerics::winograd;
}

}  // namespace aoe
