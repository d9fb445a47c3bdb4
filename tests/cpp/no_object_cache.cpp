#include <cstdlib>

namespace aoe {
namespace {

// Kernels of tests are made anew each time: their keys do not say which version of a test made
// them.
[[maybe_unused]] const int kUnset = setenv("XDG_CACHE_HOME", "/dev/null", 1);

}  // namespace
}  // namespace aoe
