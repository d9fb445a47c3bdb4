#include "frontend/om.h"

#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "base/memory.h"
#include "base/parallel.h"
#include "device/cores.h"
#include "frontend/om_format.h"
#include "frontend/om_reader.h"

namespace aoe {
namespace {

namespace fs = std::filesystem;

// Nesting of messages: three per body (node, body, graph), and a few inside the innermost.
constexpr int kMessageNesting = 3 * (kMostOmNesting + 2) + 8;

// Checks the header and the structure's checksum; returns the offset of the first weight.
int64_t check_header(std::span<const std::byte> file, OmHeader& header) {
  require(file.size() >= sizeof header, "it has {} bytes: it is truncated", file.size());
  std::memcpy(&header, file.data(), sizeof header);
  require(header.magic == kOmMagic, "it is not an .om file");
  require(header.version == kOmVersion,
          "it has version {} of the .om format, version {} is known here; make it again from its "
          "model with `aoe compile`",
          header.version, kOmVersion);
  require(header.structure_bytes <= kMostOmStructure, "its structure has {} bytes: it is damaged",
          header.structure_bytes);
  const int64_t end = om_aligned(static_cast<int64_t>(sizeof header + header.structure_bytes));
  require(end <= static_cast<int64_t>(file.size()),
          "it has {} bytes where its structure alone takes {}: it is truncated", file.size(), end);
  require(om_checksum(file.first(static_cast<size_t>(end)), header) == header.checksum,
          "the checksum of its structure is wrong: it is damaged");
  return end;
}

om::Model parse_structure(std::span<const std::byte> bytes) {
  om::Model structure;
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(kMessageNesting);
  require(structure.ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage(),
          "its structure cannot be read: it is damaged, or nested too deeply");
  return structure;
}

// The weights, without their padding. They are contiguous up to the end of the file.
std::vector<Bytes> weights_in(const om::Model& structure, const Bytes& file, int64_t first) {
  const auto size = static_cast<int64_t>(file.bytes.size());
  std::vector<Bytes> weights;
  int64_t at = first;
  for (const om::Weight& weight : structure.weights()) {
    require(weight.bytes() <= static_cast<uint64_t>(size - at),
            "it has {} bytes, weight {} of {} bytes begins at {}: it is truncated", size,
            weights.size(), weight.bytes(), at);
    weights.push_back({file.bytes.subspan(static_cast<size_t>(at), weight.bytes()), file.owner});
    at += om_aligned(static_cast<int64_t>(weight.bytes()));
    require(at <= size, "it has {} bytes, {} are expected: it is truncated", size, at);
  }
  require(at == size, "it has {} bytes, {} are expected", size, at);
  return weights;
}

void check_weights(const om::Model& structure, const std::vector<Bytes>& weights) {
  parallel_for(static_cast<int64_t>(weights.size()), 1, usable_cores(),
               [&](int64_t first, int64_t last, int) {
                 for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last); ++i) {
                   const auto bytes = weights[i].bytes;
                   const auto whole = om_aligned(static_cast<int64_t>(bytes.size()));
                   require(checksum({bytes.data(), static_cast<size_t>(whole)}) ==
                               structure.weights(static_cast<int>(i)).checksum(),
                           "the checksum of weight {} is wrong: it is damaged", i);
                 }
               });
}

OmModel read(const Bytes& file) {
  OmHeader header;
  const int64_t end = check_header(file.bytes, header);
  const om::Model structure =
      parse_structure(file.bytes.subspan(sizeof header, header.structure_bytes));
  const std::vector<Bytes> weights = weights_in(structure, file, end);
  OmModel model;
  model.graph = OmReader(weights).read_model(structure.graph());
  model.soc_version = structure.soc_version();
  model.instruction_set = structure.instruction_set();
  model.threads = structure.threads();
  for (const om::Policy& policy : structure.policies()) {
    model.policies.emplace(policy.workload(), policy.text());
  }
  check_weights(structure, weights);
  return model;
}

bool begins_as_om(const void* bytes) {
  return std::memcmp(bytes, kOmMagic.data(), kOmMagic.size()) == 0;
}

}  // namespace

bool is_om(std::span<const std::byte> bytes) {
  return bytes.size() >= kOmMagic.size() && begins_as_om(bytes.data());
}

bool is_om(const fs::path& file) {
  const File opened(open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat info = {};
  if (!opened || fstat(opened.get(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  OmMagic start;
  return ::read(opened.get(), start.data(), start.size()) == ssize_t{start.size()} &&
         begins_as_om(start.data());
}

OmModel load_om(const fs::path& file) { return read(mapped(file)); }

OmModel parse_om(std::span<const std::byte> bytes) {
  // Copied, because weights may outlive the caller's bytes and must be aligned.
  const std::shared_ptr<void> copy = allocate(bytes.size());
  require(copy != nullptr, "no memory for a copy of its {} bytes", bytes.size());
  std::memcpy(copy.get(), bytes.data(), bytes.size());
  return read({{static_cast<const std::byte*>(copy.get()), bytes.size()}, copy});
}

}  // namespace aoe
