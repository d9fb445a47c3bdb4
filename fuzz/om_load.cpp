// Feeds arbitrary bytes to the reader of .om files, accepted graphs to simplification, and policies
// to their parser. An Error is an expected result; anything else that is not a Graph is a bug.
//
// The reader would reject almost all mutated files by checksum or size, so the header is corrected
// first. The checksums of weights are compared last and are left as they are.

#include <cstring>
#include <string>

#include "base/tensor.h"
#include "expr/parse.h"
#include "frontend/om_format.h"
#include "fuzz/wire_mutation.h"
#include "graph/simplify.h"
#include "policy/policy_text.h"
#include "policy/validate.h"

namespace {

struct Parts {
  std::string structure;
  std::string weights;
};

// Splits a file where its header says, as far as there are bytes.
Parts parts_of(const uint8_t* data, size_t size) {
  aoe::OmHeader header;
  std::memcpy(&header, data, sizeof header);
  const std::string rest(reinterpret_cast<const char*>(data) + sizeof header, size - sizeof header);
  const size_t end = std::min(header.structure_bytes, rest.size());
  const auto weights =
      static_cast<size_t>(aoe::om_aligned(static_cast<int64_t>(sizeof header + end)));
  return {rest.substr(0, end), rest.substr(std::min(weights - sizeof header, rest.size()))};
}

std::string file_of(const Parts& parts) {
  aoe::OmHeader header;
  std::string file(sizeof header, '\0');
  file += parts.structure;
  header.structure_bytes = parts.structure.size();
  file.resize(static_cast<size_t>(aoe::om_aligned(static_cast<int64_t>(file.size()))));
  header.checksum = aoe::om_checksum(std::as_bytes(std::span(file)), header);
  std::memcpy(file.data(), &header, sizeof header);
  return file + parts.weights;
}

// A workload whose policies have two items, a nest and a product.
const aoe::Workload& some_workload() {
  static const aoe::Workload workload = aoe::parse_workload(
      "in %0 f32[48,64]\n"
      "weight %1 f32[64,80]\n"
      "%2 f32[48,80] = sum(r:64) %0[a, r] * %1[r, b]\n"
      "%3 f32[48] = max(r:80) %2[a, r]\n"
      "out %3\n");
  return workload;
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  if (seed % 8 == 0 || size < sizeof(aoe::OmHeader)) return LLVMFuzzerMutate(data, size, max_size);
  Parts parts = parts_of(data, size);
  parts.structure = aoe::WireMutation(seed).changed(parts.structure);
  const std::string file = file_of(parts);
  if (file.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, file.data(), file.size());
  return file.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < sizeof(aoe::OmHeader)) return 0;
  // Small, so that a shape in the input cannot make one case slow.
  aoe::set_tensor_limit(int64_t{16} << 20);
  try {
    const std::string file = file_of(parts_of(data, size));
    aoe::OmModel model = aoe::parse_om(std::as_bytes(std::span(file)));
    for (const auto& [key, text] : model.policies) {
      try {
        const aoe::Policy policy = aoe::parse_policy(text, some_workload());
        aoe::validate(policy, some_workload(), aoe::Device{});
      } catch (const aoe::Error&) {
      }
    }
    aoe::simplify(model.graph);
    aoe::verify(model.graph);
  } catch (const aoe::Error&) {
  }
  return 0;
}
