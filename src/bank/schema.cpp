#include "bank/schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "bank/transfer_seeds.h"
#include "base/error.h"
#include "base/hash.h"
#include "policy/validate.h"

namespace aoe {
namespace {

constexpr int64_t kApplication = 0x616f6562;  // "aoeb", which tools such as `file` recognize

// Formats of an entry: by its kind, from 1 on. A version ignores entries in formats that it does
// not know.
constexpr int64_t format_of(EntryKind kind) { return 1 + static_cast<int64_t>(kind); }
constexpr int64_t kLastFormat = format_of(EntryKind::no_gain);
int64_t format_of(const BankEntry& entry) { return format_of(entry.kind()); }

// A column of the policies.
struct Column {
  std::string_view name;
  std::string_view type;
  // The value of a column that version 1 lacks, as SQL; empty if it has the column.
  std::string_view when_missing = "";
};

// In the order of the table and of all statements. Long texts come last: SQLite reads a row from
// its beginning and stores the end of a long one on separate pages, which a listing need not read.
constexpr Column kColumns[] = {
    {"format", "INTEGER"},
    {"key", "TEXT"},
    {"family", "TEXT", "''"},
    {"soc_version", "TEXT"},
    {"instruction_set", "TEXT"},
    {"threads", "INTEGER"},
    {"allowed", "TEXT", "''"},
    {"numerics", "TEXT", "''"},
    {"mode", "TEXT", "''"},
    {"before_ns", "REAL"},
    {"after_ns", "REAL"},
    {"speedup_low", "REAL"},
    {"speedup_high", "REAL"},
    {"noise_floor", "REAL"},
    {"samples", "INTEGER"},
    {"total_low", "REAL", "0"},
    {"date", "TEXT"},
    {"effort", "TEXT"},
    {"product_version", "TEXT"},
    {"processor", "TEXT"},
    {"fingerprint", "TEXT", "''"},
    {"types", "TEXT", "''"},
    {"names", "TEXT", "''"},
    {"evidence", "TEXT"},
    {"policy", "TEXT"},
    {"baseline", "TEXT", "''"},
    {"workload", "TEXT"},
    {"checksum", "TEXT"},
};

// The column's number in a row of `selection`, which begins with the id.
consteval int at(std::string_view name) {
  for (size_t i = 0; i < std::size(kColumns); ++i) {
    if (kColumns[i].name == name) return static_cast<int>(i) + 1;
  }
  return -1;
}

std::string names_and(std::string_view text) {
  std::vector<std::string> words;
  for (const Column& column : kColumns) words.push_back(fmt::format("{}{}", column.name, text));
  return fmt::format("{}", fmt::join(words, ", "));
}

constexpr std::string_view kIndexes = R"(
CREATE INDEX IF NOT EXISTS policies_by_key ON policies (key);
CREATE INDEX IF NOT EXISTS policies_by_family ON policies (family);
CREATE INDEX IF NOT EXISTS policies_by_gain ON policies (total_low);
CREATE INDEX IF NOT EXISTS policies_by_time ON policies (after_ns);
CREATE INDEX IF NOT EXISTS policies_by_date ON policies (date);
)";

std::string checksum_text(const BankEntry& entry, int64_t schema) {
  return fmt::format("{:016x}",
                     schema == kFirstSchema ? checksum_of_version_1(entry) : checksum_of(entry));
}

std::string selection(int64_t schema, std::string_view rest) {
  std::string columns;
  for (const auto& [name, _, when_missing] : kColumns) {
    const bool has = schema > kFirstSchema || when_missing.empty();
    columns += has ? fmt::format(", {}", name) : fmt::format(", {} AS {}", when_missing, name);
  }
  return fmt::format("SELECT id{} FROM policies {}", columns, rest);
}

}  // namespace

std::optional<Numerics> class_named(std::string_view name) {
  const auto found = std::ranges::find(kNumericsNames, name);
  if (found == kNumericsNames.end()) return std::nullopt;
  return static_cast<Numerics>(found - kNumericsNames.begin());
}

bool is_plausible(const BankEntry& entry) {
  const Gain& gain = entry.gain;
  const double all[] = {gain.before_ns,    gain.after_ns,    gain.speedup_low,
                        gain.speedup_high, gain.noise_floor, entry.total_low};
  if (!std::ranges::all_of(all, [](double number) { return std::isfinite(number); })) return false;
  if (entry.target.threads < 1 || entry.target.threads > kMostPolicyThreads) return false;
  if (entry.kind() == EntryKind::no_gain) return true;
  return gain.before_ns > 0 && gain.after_ns > 0 && gain.speedup_low > 0 &&
         gain.speedup_low <= gain.speedup_high && gain.speedup_high <= kMostSpeedUp &&
         entry.total_low > 0 && entry.total_low <= kMostSpeedUp;
}

bool is_empty(const Database& database) {
  return database.integer("SELECT count(*) FROM sqlite_schema") == 0;
}

int64_t schema_of(const Database& database) {
  const std::string file = database.file().string();
  require(database.integer("PRAGMA application_id") == kApplication, "'{}' is not a bank", file);
  const int64_t version = database.integer("PRAGMA user_version");
  require(version <= kSchema,
          "bank '{}' was made by a newer version: its tables have version {}, {} is known here",
          file, version, kSchema);
  require(version >= kFirstSchema, "'{}' is not a bank: its tables have version {}", file, version);
  return version;
}

void create_tables(Database& database, const std::string& soc_version) {
  std::vector<std::string> columns;
  for (const auto& [name, type, _] : kColumns) {
    columns.push_back(fmt::format("{} {} NOT NULL", name, type));
  }
  database.run(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}; "
                  "CREATE TABLE bank (soc_version TEXT NOT NULL); "
                  "CREATE TABLE policies (id INTEGER PRIMARY KEY, {}); {}",
                  kApplication, kSchema, fmt::join(columns, ", "), kIndexes));
  database.prepare("INSERT INTO bank VALUES (?)").bind(soc_version).run();
}

void migrate(Database& database, const std::string& soc_version) {
  std::map<int64_t, BankEntry> whole;
  {
    EntryQuery all(database, soc_version, "");
    while (all.step()) {
      StoredEntry stored = all.entry();
      // The checksum of a foreign entry fits too, and must fit afterwards.
      const bool is_whole = stored.is_good() || stored.state == StoredEntry::State::foreign;
      if (is_whole) whole.emplace(stored.id, std::move(stored.entry));
    }
  }
  for (const auto& [name, type, when_missing] : kColumns) {
    if (when_missing.empty()) continue;
    database.run(fmt::format("ALTER TABLE policies ADD COLUMN {} {} NOT NULL DEFAULT {}", name,
                             type, when_missing));
  }
  database.run(fmt::format("PRAGMA user_version = {}; {}", kSchema, kIndexes));
  Statement replace = replacement(database);
  for (const auto& [id, entry] : whole) {
    bind_entry(replace, entry);
    replace.bind(id);
    replace.run();
  }
}

std::string selection_of_entries(const Database& database, std::string_view rest) {
  return selection(schema_of(database), rest);
}

EntryQuery::EntryQuery(const Database& database, std::string soc_version, std::string_view rest)
    : database_(database),
      soc_version_(std::move(soc_version)),
      schema_(schema_of(database)),
      statement_(database.prepare(selection(schema_, rest))) {}

StoredEntry EntryQuery::entry() const {
  using State = StoredEntry::State;
  const Statement& row = statement_;
  StoredEntry stored{.id = row.integer(0)};
  BankEntry& entry = stored.entry;
  const auto text = [&](int column) { return row.text(column); };
  entry.workload = text(at("workload"));
  entry.target = {text(at("soc_version")), text(at("instruction_set")),
                  static_cast<int>(row.integer(at("threads")))};
  entry.policy = text(at("policy"));
  entry.mode = text(at("mode"));
  entry.baseline = text(at("baseline"));
  entry.gain = {.before_ns = row.real(at("before_ns")),
                .after_ns = row.real(at("after_ns")),
                .speedup_low = row.real(at("speedup_low")),
                .speedup_high = row.real(at("speedup_high")),
                .noise_floor = row.real(at("noise_floor")),
                .samples = row.integer(at("samples"))};
  entry.names = texts_in(text(at("names")));
  entry.types = texts_in(text(at("types")));
  entry.evidence = texts_in(text(at("evidence")));
  entry.processor = text(at("processor"));
  entry.fingerprint = text(at("fingerprint"));
  entry.product_version = text(at("product_version"));
  entry.date = text(at("date"));
  entry.effort = text(at("effort"));
  bool has_class = true;
  if (schema_ == kFirstSchema) {
    // Version 1 knew neither: the policy may be faster than what it tells.
    entry.allowed = entry.numerics();
    entry.total_low = entry.gain.speedup_low;
  } else {
    const std::optional<Numerics> allowed = class_named(text(at("allowed")));
    has_class = allowed.has_value();
    entry.allowed = allowed.value_or(Numerics::direct);
    entry.total_low = row.real(at("total_low"));
  }
  const std::string key = text(at("key"));
  const auto is = [&](State state, std::string_view what) {
    stored.state = state;
    stored.problem = fmt::format("bank '{}', entry {} (workload {}): {}", database_.file().string(),
                                 stored.id, key, what);
  };
  if (row.integer(at("format")) > kLastFormat) {
    is(State::newer, "it was made by a newer version");
  } else if (!has_class || row.integer(at("format")) != format_of(entry) ||
             row.integer(at("threads")) != entry.target.threads ||  // beyond an int
             key != key_text(entry.workload) ||
             text(at("checksum")) != checksum_text(entry, schema_)) {
    is(State::damaged, "it is damaged: its checksum does not fit");
  } else if (!is_plausible(entry)) {
    is(State::damaged, "its measurements are inconsistent");
  } else if (entry.target.soc_version != soc_version_) {
    is(State::foreign, fmt::format("it is for {}", entry.target.soc_version));
  }
  return stored;
}

Statement insertion(const Database& database) {
  std::string marks = "?";
  for (size_t i = 1; i < std::size(kColumns); ++i) marks += ", ?";
  return database.prepare(
      fmt::format("INSERT INTO policies ({}) VALUES ({})", names_and(""), marks));
}

Statement replacement(const Database& database) {
  return database.prepare(fmt::format("UPDATE policies SET {} WHERE id = ?", names_and(" = ?")));
}

void bind_entry(Statement& statement, const BankEntry& entry) {
  // What a reader would take for damage is never written.
  require(is_plausible(entry), "workload {}: its measurements are inconsistent and are not stored",
          key_text(entry.workload));
  statement.reset();
  statement.bind(format_of(entry))
      .bind(key_text(entry.workload))
      .bind(family_of(entry.workload))
      .bind(entry.target.soc_version)
      .bind(entry.target.instruction_set)
      .bind(int64_t{entry.target.threads})
      .bind(name(entry.allowed))
      .bind(name(entry.numerics()))
      .bind(entry.mode)
      .bind(entry.gain.before_ns)
      .bind(entry.gain.after_ns)
      .bind(entry.gain.speedup_low)
      .bind(entry.gain.speedup_high)
      .bind(entry.gain.noise_floor)
      .bind(entry.gain.samples)
      .bind(entry.total_low)
      .bind(entry.date)
      .bind(entry.effort)
      .bind(entry.product_version)
      .bind(entry.processor)
      .bind(entry.fingerprint)
      .bind(lines_of(entry.types))
      .bind(lines_of(entry.names))
      .bind(lines_of(entry.evidence))
      .bind(entry.policy)
      .bind(entry.baseline)
      .bind(entry.workload)
      .bind(checksum_text(entry, kSchema));
}

}  // namespace aoe
