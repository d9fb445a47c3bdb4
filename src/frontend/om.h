#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "graph/graph.h"

namespace aoe {

// The contents of an .om file (docs/om.md): a graph, its weights, and policies for its workloads on
// one kind of machine. Never machine code.
struct OmModel {
  Graph graph;
  // What the policies are for: machine, widest instruction set, number of threads.
  std::string soc_version;
  std::string instruction_set;
  int threads = 0;
  // Texts of policies by the key of their workload, and of task times by the hash of the name of
  // their graph.
  std::map<uint64_t, std::string> policies;
};

// Whether the first bytes are those of an .om file; the rest is checked by loading.
bool is_om(std::span<const std::byte> bytes);
bool is_om(const std::filesystem::path& file);

// Both fail if the file is not complete and valid; the message has the cause, but not the name of
// the file. Policies are not parsed here but when a kernel is made. A loaded file stays mapped as
// long as one of its weights is in use.
OmModel load_om(const std::filesystem::path& file);
OmModel parse_om(std::span<const std::byte> bytes);

// Writes the file atomically and returns its size. Errors name the file.
int64_t write_om(const std::filesystem::path& file, const OmModel& model);

}  // namespace aoe
