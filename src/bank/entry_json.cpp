#include "bank/entry_json.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "bank/schema.h"
#include "base/error.h"

namespace aoe {
namespace {

using Json = nlohmann::ordered_json;

Numerics known_class(const std::string& text) {
  const std::optional<Numerics> found = class_named(text);
  require(found.has_value(), "'{}' is no class of algorithms", text);
  return *found;
}

}  // namespace

std::string_view name(EntryKind kind) {
  constexpr std::array<std::string_view, 3> kNames{"policy", "layouts", "no gain"};
  return kNames[static_cast<size_t>(kind)];
}

Json json_of(const BankEntry& entry) {
  return {{"kind", name(entry.kind())},
          {"key", key_text(entry.workload)},
          {"names", entry.names},
          {"types", entry.types},
          {"workload", entry.workload},
          {"soc_version", entry.target.soc_version},
          {"instruction_set", entry.target.instruction_set},
          {"threads", entry.target.threads},
          {"allowed", name(entry.allowed)},
          {"numerics", name(entry.numerics())},
          {"mode", entry.mode},
          {"policy", entry.policy},
          {"baseline", entry.baseline},
          {"before_ns", entry.gain.before_ns},
          {"after_ns", entry.gain.after_ns},
          {"speedup_low", entry.gain.speedup_low},
          {"speedup_high", entry.gain.speedup_high},
          {"noise_floor", entry.gain.noise_floor},
          {"samples", entry.gain.samples},
          {"total_low", entry.total_low},
          {"evidence", entry.evidence},
          {"processor", entry.processor},
          {"fingerprint", entry.fingerprint},
          {"product_version", entry.product_version},
          {"date", entry.date},
          {"effort", entry.effort}};
}

std::string line_of(const BankEntry& entry) {
  try {
    return json_of(entry).dump();
  } catch (const Json::exception&) {
    fail("workload {}: its texts are not UTF-8", key_text(entry.workload));
  }
}

BankEntry parse_entry(const std::string& line) {
  BankEntry entry;
  try {
    const Json json = Json::parse(line);
    const auto take = [&](const char* name, auto& value) { json.at(name).get_to(value); };
    take("names", entry.names);
    take("types", entry.types);
    take("workload", entry.workload);
    take("soc_version", entry.target.soc_version);
    take("instruction_set", entry.target.instruction_set);
    take("threads", entry.target.threads);
    entry.allowed = known_class(json.at("allowed"));
    take("mode", entry.mode);
    take("policy", entry.policy);
    take("baseline", entry.baseline);
    take("before_ns", entry.gain.before_ns);
    take("after_ns", entry.gain.after_ns);
    take("speedup_low", entry.gain.speedup_low);
    take("speedup_high", entry.gain.speedup_high);
    take("noise_floor", entry.gain.noise_floor);
    take("samples", entry.gain.samples);
    take("total_low", entry.total_low);
    take("evidence", entry.evidence);
    take("processor", entry.processor);
    take("fingerprint", entry.fingerprint);
    take("product_version", entry.product_version);
    take("date", entry.date);
    take("effort", entry.effort);
  } catch (const Json::exception& error) {
    fail("this is no entry of a bank: {}", error.what());
  }
  require(is_plausible(entry), "its measurements are inconsistent");
  return entry;
}

}  // namespace aoe
