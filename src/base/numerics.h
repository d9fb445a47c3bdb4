#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace aoe {

// Classes of algorithms by what they promise about results (docs/numerics.md). Each class includes
// those before it.
enum class Numerics : uint8_t {
  direct,    // sums of products are computed as they stand
  winograd,  // convolutions may run by Winograd's algorithm: errors are bounded per tile
  strassen,  // products may run by Strassen's algorithm, which mixes rows of a batch
};
inline constexpr std::array<std::string_view, 3> kNumericsNames{"direct", "winograd", "strassen"};
inline std::string_view name(Numerics numerics) {
  return kNumericsNames[static_cast<size_t>(numerics)];
}

// Which algorithms the operators of a model may use: the options --op_select_implmode,
// --optypelist_for_implmode and --allow_strassen.
struct ImplMode {
  std::string mode = {};                   // "high_performance" (also if empty), "high_precision"
  std::vector<std::string> op_types = {};  // operators that `mode` is for; empty: all
  bool allow_strassen = false;             // where the mode is not high_precision

  // Throws Error if `mode` is neither, or if it is missing though op_types are given.
  void check() const;
  Numerics numerics_of(std::string_view op_type) const;
  // The options of the command line that give this mode; none for the default.
  std::vector<std::string> options() const;

  bool operator==(const ImplMode&) const = default;
};

}  // namespace aoe
