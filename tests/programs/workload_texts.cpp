// Prints the workloads of the nodes of models as text, and fails if a text does not parse back to
// the same workload: workload_texts MODEL.onnx... With "-" it parses a text from standard input and
// prints it.

#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <iterator>
#include <map>

#include "expr/expr_table.h"
#include "expr/parse.h"
#include "expr/text.h"
#include "frontend/onnx.h"
#include "graph/simplify.h"
#include "tests/cpp/same_workload.h"

namespace aoe {
namespace {

struct Totals {
  int workloads = 0;
  int wrong = 0;
  size_t longest = 0;
};

void check(const Workload& workload, const std::string& where, Totals& totals) {
  const std::string text = to_string(workload);
  ++totals.workloads;
  totals.longest = std::max(totals.longest, text.size());
  fmt::print("{}\n", text);
  std::map<uint64_t, Tensor> contents;
  for (const auto& value : workload.values) {
    if (!value.constant.empty()) contents[contents_hash(value.constant)] = value.constant;
  }
  try {
    const Workload again = parse_workload(text, [&](uint64_t hash) { return contents.at(hash); });
    const std::string difference =
        to_string(again) == text ? difference_between(workload, again) : "the text";
    if (difference.empty()) return;
    fmt::print(stderr, "{}: {} differs after\n{}\n", where, difference, text);
  } catch (const Error& error) {
    fmt::print(stderr, "{}: {}\n{}\n", where, error.what(), text);
  }
  ++totals.wrong;
}

void check_nodes(const Graph& graph, const std::string& path, Totals& totals) {
  for (const Node& node : graph.nodes) {
    for (const Body& body : node.bodies) check_nodes(*body.graph, path, totals);
    try {
      const Lowered lowered = lower(*node.def, call_of(graph, node));
      if (lowered.workload) check(*lowered.workload, path + ", " + node.describe(), totals);
    } catch (const Error&) {
      continue;  // not a valid call: no workload, no text
    }
  }
}

// Checks the nodes as imported, if constant inputs make their calls complete, and after
// simplification.
void check_model(const std::string& path, Totals& totals) {
  try {
    Graph graph = load_onnx(path);
    check_nodes(graph, path, totals);
    simplify(graph);
    check_nodes(graph, path, totals);
  } catch (const Error&) {
    return;  // covered by other tests
  }
}

}  // namespace
}  // namespace aoe

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "-") {
    const std::string text(std::istreambuf_iterator<char>(std::cin), {});
    try {
      fmt::print("{}", to_string(aoe::parse_workload(text)));
      return 0;
    } catch (const aoe::Error& error) {
      fmt::print(stderr, "{}\n", error.what());
      return 2;
    }
  }
  aoe::Totals totals;
  for (int i = 1; i < argc; ++i) aoe::check_model(argv[i], totals);
  fmt::print(stderr, "{} workloads, {} of them wrong, the longest text {} bytes\n",
             totals.workloads, totals.wrong, totals.longest);
  return totals.wrong == 0 ? 0 : 1;
}
