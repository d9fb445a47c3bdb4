#include <cstdlib>

namespace aoe {
namespace {

// Tests use neither the object cache, because keys do not identify the version of a test that
// emitted the code, nor the user's banks.
[[maybe_unused]] const int kUnset =
    setenv("XDG_CACHE_HOME", "/dev/null", 1) | unsetenv("TUNE_BANK_PATH") |
    setenv("ASCEND_CACHE_PATH", "/dev/null", 1) | setenv("AOE_BUILTIN", "off", 1);

}  // namespace
}  // namespace aoe
