#include "bank/entry_json.h"

#include <algorithm>
#include <array>
#include <concepts>
#include <nlohmann/json.hpp>
#include <utility>

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

namespace {

// The longest text that a bank can store is longer.
constexpr size_t kLongestText = 16 << 20;

// Reads a field into a text or a number. Without these checks, numbers would be converted to
// others.
void take(const Json& json, const char* name, std::string& value) {
  json.at(name).get_to(value);
  require(value.size() <= kLongestText, "its '{}' has {} bytes, at most {} are allowed", name,
          value.size(), kLongestText);
}
void take(const Json& json, const char* name, double& value) {
  require(json.at(name).is_number(), "its '{}' is not a number", name);
  value = json.at(name).get<double>() + 0.0;  // SQLite stores -0 as 0
}
template <std::integral Integer>
void take(const Json& json, const char* name, Integer& value) {
  const Json& number = json.at(name);
  const bool fits =
      number.is_number_integer() && std::in_range<Integer>(number.get<int64_t>()) &&
      (!number.is_number_unsigned() || std::in_range<int64_t>(number.get<uint64_t>()));
  require(fits, "its '{}' is not an integer that fits", name);
  value = number.get<Integer>();
}
// A set as a bank stores it.
void take(const Json& json, const char* name, std::set<std::string>& value) {
  json.at(name).get_to(value);
  const std::string lines = lines_of(value);
  require(lines.size() <= kLongestText, "its '{}' have {} bytes, at most {} are allowed", name,
          lines.size(), kLongestText);
  value = texts_in(lines);
}

}  // namespace

BankEntry parse_entry(const std::string& line) {
  BankEntry entry;
  try {
    const Json json = Json::parse(line);
    const auto take = [&](const char* name, auto& value) { aoe::take(json, name, value); };
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
