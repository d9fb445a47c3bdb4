#include "cli/bank_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "bank/entry_json.h"
#include "bank/places.h"
#include "base/error.h"
#include "base/notice.h"
#include "cli/words.h"
#include "device/device.h"

namespace aoe {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kShownProblems = 5;

}  // namespace

CLI::Validator is_named() {
  return {[](const std::string& file) { return file.empty() ? "no file is named" : ""; }, "FILE"};
}

void add_file_options(CLI::App& command, BankOptions& options) {
  CLI::Option* file =
      command.add_option("--bank", options.file, "The bank's file; without, this machine's")
          ->check(is_named());
  command.add_flag("--graphs", options.graphs, "This machine's bank of subgraphs (layouts)")
      ->excludes(file);
}

std::filesystem::path file_of(const BankOptions& options) {
  if (!options.file.empty()) return options.file;
  return custom_bank(options.graphs ? BankKind::graphs : BankKind::operators,
                     host_device().soc_version());
}

std::optional<Bank> opened_bank(const std::filesystem::path& file) {
  require(std::filesystem::exists(file),
          "there is no bank '{}'; tuning makes it, and --bank names another", file.string());
  return Bank::for_reading(file);
}

std::string title_of(const BankEntry& entry) {
  if (entry.names.empty()) return key_text(entry.workload);
  return fmt::format("{}", fmt::join(entry.names, " "));
}

std::string gain_text(const BankEntry& entry) {
  const Gain& gain = entry.gain;
  if (entry.kind() == EntryKind::no_gain) {
    if (gain.samples == 0) return "nothing was tried in time";
    return fmt::format("no gain by {}", count_text(gain.samples, "candidate"));
  }
  return fmt::format("{:.3f} times as fast ({:.3f} to {:.3f})", gain.before_ns / gain.after_ns,
                     gain.speedup_low, gain.speedup_high);
}

bool is_aged_here(const BankEntry& entry) {
  const Device& device = host_device();
  return entry.target.soc_version == device.soc_version() && entry.is_aged(device.fingerprint);
}

Json json_of(const StoredEntry& stored) {
  constexpr std::array kStates{"good", "newer", "foreign", "damaged"};
  Json json{{"id", stored.id},
            {"state", kStates[static_cast<size_t>(stored.state)]},
            {"aged", is_aged_here(stored.entry)}};
  json.update(json_of(stored.entry));
  return json;
}

void print_json(const Json& json) {
  // Damaged entries may have any bytes.
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

void warn_of_skipped(const std::vector<std::string>& skipped) {
  for (size_t i = 0; i < std::min(skipped.size(), kShownProblems); ++i) {
    notice(skipped[i] + ": it is skipped");
  }
  if (skipped.size() > kShownProblems) {
    notice(fmt::format("{} more are skipped", skipped.size() - kShownProblems));
  }
}

}  // namespace aoe
