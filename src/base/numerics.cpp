#include "base/numerics.h"

#include <fmt/ranges.h>

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

std::vector<std::string> ImplMode::options() const {
  std::vector<std::string> all;
  if (!mode.empty()) all.push_back("--op_select_implmode=" + mode);
  if (!op_types.empty()) {
    all.push_back(fmt::format("--optypelist_for_implmode={}", fmt::join(op_types, ",")));
  }
  if (allow_strassen) all.emplace_back("--allow_strassen");
  return all;
}

}  // namespace aoe
