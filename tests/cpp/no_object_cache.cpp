#include <cstdlib>

namespace aoe {
namespace {

// Kernels of tests are made anew each time: their keys do not say which version of a test made
// them. Nor do they run by what the user has tuned.
[[maybe_unused]] const int kUnset =
    setenv("XDG_CACHE_HOME", "/dev/null", 1) | unsetenv("TUNE_BANK_PATH") |
    setenv("ASCEND_CACHE_PATH", "/dev/null", 1) | setenv("AOE_BUILTIN", "off", 1);

}  // namespace
}  // namespace aoe
