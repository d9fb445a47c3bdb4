#include "bank/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>

#include "bank/join.h"

namespace aoe {
namespace {

std::string_view order_of(ListingOptions::Sort sort) {
  switch (sort) {  // each as an index goes
    case ListingOptions::Sort::gain: return "total_low DESC, id DESC";
    case ListingOptions::Sort::time: return "after_ns DESC, id DESC";
    case ListingOptions::Sort::date: return "date DESC, id DESC";
    case ListingOptions::Sort::id: return "id";
  }
  return "";
}

// Conditions whose parameters are bound by bind_conditions, in this order.
std::string conditions(const ListingOptions& options) {
  std::string text = "WHERE TRUE";
  if (!options.op.empty()) {
    text +=
        " AND (instr(lower(names), lower(?)) OR "
        "instr(char(10) || types || char(10), char(10) || ? || char(10)))";
  }
  if (options.threads > 0) text += " AND threads = ?";
  if (!options.numerics.empty()) text += " AND numerics = ? AND policy != ''";
  return text;
}

void bind_conditions(Statement& statement, const ListingOptions& options) {
  if (!options.op.empty()) statement.bind(options.op).bind(options.op);
  if (options.threads > 0) statement.bind(int64_t{options.threads});
  if (!options.numerics.empty()) statement.bind(options.numerics);
}

std::vector<StoredEntry> rows_of(EntryQuery query) {
  std::vector<StoredEntry> rows;
  while (query.step()) rows.push_back(query.entry());
  return rows;
}

// The key of a decimal number; empty if the text is no such number.
std::string key_of_number(const std::string& text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole ? fmt::format("{:016x}", number) : "";
}

}  // namespace

Listing list_entries(const Bank& bank, const ListingOptions& options) {
  const ReadTransaction all_as_of_now(bank.database());
  Listing listing;
  const std::string where = conditions(options);
  Statement count =
      bank.database().prepare(fmt::format("SELECT count(*) FROM ({})", bank.selection(where)));
  bind_conditions(count, options);
  if (count.step()) listing.total = count.integer(0);
  EntryQuery page =
      bank.query(fmt::format("{} ORDER BY {} LIMIT ? OFFSET ?", where, order_of(options.sort)));
  Statement& parameters = page.parameters();
  bind_conditions(parameters, options);
  parameters.bind(options.limit > 0 ? options.limit : -1).bind(options.offset);
  listing.page = rows_of(std::move(page));
  return listing;
}

std::vector<StoredEntry> entries_named(const Bank& bank, const std::string& text) {
  if (text.empty()) return {};
  const ReadTransaction all_as_of_now(bank.database());
  const bool is_hexadecimal =
      std::ranges::all_of(text, [](unsigned char c) { return std::isxdigit(c) != 0; });
  const auto found = [&](std::string_view where, std::string_view value) {
    EntryQuery query = bank.query(where);
    query.parameters().bind(value);
    return rows_of(std::move(query));
  };
  // A shorter one may be a node's name.
  constexpr size_t kShortestKey = 4;
  if (is_hexadecimal && text.size() >= kShortestKey) {
    auto rows = found("WHERE key GLOB lower(?) || '*' ORDER BY id", text);
    if (!rows.empty()) return rows;
  }
  if (const std::string key = key_of_number(text); !key.empty()) {
    auto rows = found("WHERE key = ? ORDER BY id", key);
    if (!rows.empty()) return rows;
  }
  return found("WHERE instr(char(10) || names || char(10), char(10) || ? || char(10)) ORDER BY id",
               text);
}

std::vector<StoredEntry> entries_to_prune(const Bank& bank, bool aged_policies,
                                          FunctionRef<bool(const BankEntry&)> is_aged) {
  std::set<EntryKey> with_policy;
  bank.for_each([&](const StoredEntry& stored) {
    if (stored.is_good() && !stored.entry.policy.empty()) with_policy.insert(key_of(stored.entry));
  });
  std::vector<StoredEntry> useless;
  bank.for_each([&](StoredEntry stored) {
    const BankEntry& entry = stored.entry;
    const bool is_policy = !entry.policy.empty();
    const bool is_useless = is_policy ? aged_policies && is_aged(entry)
                                      : is_aged(entry) || with_policy.contains(key_of(entry));
    if (stored.is_good() && is_useless) useless.push_back(std::move(stored));
  });
  return useless;
}

}  // namespace aoe
