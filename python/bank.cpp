#include "python/bank.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <nlohmann/json.hpp>

#include "bank/entry_json.h"
#include "bank/merge.h"
#include "base/error.h"

namespace nb = nanobind;

namespace aoe {
namespace {

std::optional<Bank> opened(const std::string& path) {
  require(std::filesystem::exists(path), "there is no bank '{}'", path);
  return Bank::for_reading(path);
}

std::vector<std::string> entries(const std::string& path) {
  const nb::gil_scoped_release unlocked;
  std::vector<std::string> lines;
  const std::optional<Bank> bank = opened(path);
  if (!bank) return lines;
  bank->for_each([&](const StoredEntry& stored) {
    using Json = nlohmann::ordered_json;
    if (!stored.is_good()) return;
    // Names of nodes may have any bytes.
    lines.push_back(json_of(stored.entry).dump(-1, ' ', false, Json::error_handler_t::replace));
  });
  return lines;
}

nb::tuple exported(const std::string& path, const std::optional<std::string>& file) {
  std::vector<std::string> skipped;
  std::string text;
  {
    const nb::gil_scoped_release unlocked;
    const std::optional<Bank> bank = opened(path);
    if (bank) text = export_text(*bank, skipped);
    if (file) write_export(*file, text);
  }
  return nb::make_tuple(text, skipped);
}

nb::tuple merge(const std::string& into, const std::vector<std::string>& sources, bool dry_run) {
  std::vector<std::string> skipped;
  MergeReport report;
  {
    const nb::gil_scoped_release unlocked;
    const EntryMap all = joined_entries({sources.begin(), sources.end()}, skipped);
    report = merge_into(into, all, dry_run);
  }
  return nb::make_tuple(report.added, report.updated, report.kept, skipped.size());
}

}  // namespace

void add_bank_functions(nb::module_& module) {
  module.def("bank_entries", entries, nb::arg("path"));
  module.def("bank_export", exported, nb::arg("path"), nb::arg("file").none());
  module.def("bank_merge", merge, nb::arg("into"), nb::arg("sources"), nb::arg("dry_run"));
}

}  // namespace aoe
