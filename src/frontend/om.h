#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "graph/graph.h"

namespace aoe {

// A model in the product's file format, docs/om.md: a graph, its weights, and policies for the
// workloads that it came to on one machine. Never machine code.
struct OmModel {
  Graph graph;
  // The machine that the policies are for, the widest instruction set in use there, and how many
  // threads.
  std::string soc_version;
  std::string instruction_set;
  int threads = 0;
  std::map<uint64_t, std::string> policies;  // as text, by the key of their workload
};

// By their first bytes; whatever else is wrong, loading says.
bool is_om(std::span<const std::byte> bytes);
bool is_om(const std::filesystem::path& file);

// Both fail, with the cause in the message but without the file, on anything that is not whole and
// sound. Policies are texts as far as this goes: whoever makes code of them checks what they say. A
// loaded file stays mapped as long as one of its weights is in use.
OmModel load_om(const std::filesystem::path& file);
OmModel parse_om(std::span<const std::byte> bytes);

// Returns the size of the file, which appears whole or not at all.
int64_t write_om(const std::filesystem::path& file, const OmModel& model);

}  // namespace aoe
