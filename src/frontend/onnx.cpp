#include "frontend/onnx.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include <fstream>

#include "frontend/onnx_importer.h"

namespace aoe {
namespace {

namespace fs = std::filesystem;

Graph import_model(onnx::ModelProto proto, const fs::path& folder) {
  require(proto.has_graph(), "it holds no graph; is it an ONNX model?");
  OnnxModel model{.opsets = {}, .functions = {}, .tensors = OnnxTensorReader(folder)};
  for (const auto& entry : proto.opset_import()) {
    checked_name(entry.domain(), "a domain");
    model.opsets[standard_domain(entry.domain())] = checked_opset(entry);
  }
  for (const auto& function : proto.functions()) {
    const std::string domain = standard_domain(function.domain());
    checked_name(function.name(), "a function");
    model.functions[{domain, function.name(), function.overload()}] = &function;
  }
  Graph graph = OnnxImporter(model, nullptr).import(*proto.mutable_graph());
  require(!graph.outputs.empty(), "it has no outputs");
  return graph;
}

constexpr std::string_view kNotParsed =
    "it cannot be read as an ONNX model: it is damaged, truncated, nested too deeply, or something "
    "else";

}  // namespace

Graph parse_onnx(std::span<const std::byte> bytes) {
  require(
      bytes.size() <= static_cast<size_t>(std::numeric_limits<int>::max()),
      "{} bytes are more than a model file can have (2 GB); weights can be kept as external data",
      bytes.size());
  require(!bytes.empty(), "it is empty");
  onnx::ModelProto proto;
  require(proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())), "{}", kNotParsed);
  return import_model(std::move(proto), {});
}

Graph load_onnx(const fs::path& file) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  require(fs::exists(status), "there is no such file");
  require(!fs::is_directory(status), "it is a directory");
  require(fs::is_regular_file(status), "it is not a regular file");
  std::ifstream stream(file, std::ios::binary);
  require(stream.good(), "it cannot be opened");
  require(stream.peek() != std::ifstream::traits_type::eof(), "it is empty");
  onnx::ModelProto proto;
  google::protobuf::io::IstreamInputStream input(&stream);
  google::protobuf::io::CodedInputStream coded(&input);
  require(proto.ParseFromCodedStream(&coded) && coded.ConsumedEntireMessage() && stream.eof(), "{}",
          kNotParsed);
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  return import_model(std::move(proto), folder);
}

}  // namespace aoe
