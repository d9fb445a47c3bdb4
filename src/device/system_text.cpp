#include "device/system_text.h"

#include <charconv>
#include <fstream>
#include <iterator>

namespace aoe {
namespace {

// Higher numbers in a list are ignored: no Linux kernel is built for as many processors.
constexpr int kMostCpus = 1 << 16;

bool parse_number(std::string_view text, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::string read_system_text(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  return text;
}

std::vector<std::string> split_text(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::vector<int> parse_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  for (const std::string& part : split_text(text, ',')) {
    const size_t dash = std::min(part.find('-'), part.size());
    int first = 0;
    if (!parse_number(std::string_view(part).substr(0, dash), first)) continue;
    int last = first;
    if (dash < part.size() && !parse_number(std::string_view(part).substr(dash + 1), last))
      continue;
    for (int cpu = first; cpu <= std::min(last, kMostCpus); ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace aoe
