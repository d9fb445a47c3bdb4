// Measures compile times: compile_times MODEL.onnx... Prints a line for each function that the
// models' kernels call, slowest first, then median, 90th percentile and maximum. Functions shared
// by models are compiled and counted once; with XDG_CACHE_HOME in an empty folder none comes from
// disk.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "backend/kernel.h"
#include "codegen/cpu_backend.h"
#include "codegen/jit/compiler.h"
#include "frontend/onnx.h"
#include "graph/simplify.h"
#include "runtime/executable.h"

int main(int argc, char** argv) {
  struct Entry {
    double ms;
    std::string of;
  };
  std::vector<Entry> entries;
  std::set<const void*> seen;
  for (int i = 1; i < argc; ++i) {
    try {
      aoe::Graph graph = aoe::load_onnx(argv[i]);
      aoe::simplify(graph);
      aoe::Engine engine;
      engine.backend = aoe::host_backend();
      const aoe::Executable executable(std::move(graph), engine);
      for (const auto& kernel : executable.kernels()) {
        for (const aoe::CompiledFunction& code : kernel->compiled().functions()) {
          if (!seen.insert(code.entry).second || code.compile_ms == 0) continue;
          entries.push_back(
              {code.compile_ms, fmt::format("{}: {}", argv[i], to_string(kernel->workload()))});
        }
      }
    } catch (const aoe::Error& error) {
      fmt::print(stderr, "{}: {}\n", argv[i], error.what());
      return 1;
    }
  }
  if (entries.empty()) return 1;
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.ms > b.ms; });
  for (const Entry& entry : entries) fmt::print("{:.1f} ms  {}\n", entry.ms, entry.of);
  fmt::print("{} functions: median {:.1f} ms, ninetieth percentile {:.1f}, most {:.1f}\n",
             entries.size(), entries[entries.size() / 2].ms, entries[entries.size() / 10].ms,
             entries[0].ms);
  return 0;
}
