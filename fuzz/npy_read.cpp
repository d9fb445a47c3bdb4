// Reads arbitrary bytes as the array of an input (.npy) and as several of them (.npz). An Error is
// an expected result; an accepted array must be the same after it was written and read again.

#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/tensor.h"
#include "cli/npy.h"
#include "fuzz/scratch_file.h"

namespace {

bool same(const aoe::Tensor& a, const aoe::Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  if (a.dtype() != aoe::DType::string) {
    return a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), static_cast<size_t>(a.bytes())) == 0;
  }
  return std::equal(a.data<std::string>(), a.data<std::string>() + a.count(),
                    b.data<std::string>());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const aoe::ScratchFile scratch;
  // Small, so that a shape in the input cannot make one case slow.
  aoe::set_tensor_limit(int64_t{16} << 20);
  scratch.write(data, size);
  std::map<std::string, aoe::Tensor> arrays;
  for (const auto expected : {aoe::DType::f32, aoe::DType::bf16}) {
    try {
      arrays = {{"x", aoe::read_npy(scratch.path(), expected)}};
    } catch (const aoe::Error&) {
    }
    try {
      arrays = aoe::read_npz(scratch.path(), {{"x", expected}});
    } catch (const aoe::Error&) {
    }
  }
  if (arrays.empty()) return 0;
  std::map<std::string, aoe::DType> types;
  for (const auto& [name, array] : arrays) types[name] = array.dtype();
  aoe::write_npz(scratch.path(), arrays);
  const auto again = aoe::read_npz(scratch.path(), types);
  for (const auto& [name, array] : arrays) {
    if (!again.contains(name) || !same(array, again.at(name))) std::abort();
  }
  return 0;
}
