// Feeds arbitrary bytes to the importer, and accepted graphs to simplification: both process
// untrusted files. An Error is an expected result; anything else that is not a Graph is a bug.

#include <span>

#include "base/error.h"
#include "base/tensor.h"
#include "frontend/onnx.h"
#include "graph/simplify.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Small, so that a shape in the input cannot make one case slow.
  aoe::set_tensor_limit(int64_t{16} << 20);
  try {
    aoe::Graph graph = aoe::parse_onnx(std::as_bytes(std::span(data, size)));
    aoe::simplify(graph);
    aoe::verify(graph);
  } catch (const aoe::Error&) {
  }
  return 0;
}
