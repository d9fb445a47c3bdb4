#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/sqlite.h"

namespace aoe {

// An entry of a journal: a request and its answer. The journal does not interpret their bytes.
struct JournalEntry {
  enum class Kind : uint8_t { measurement, decision };
  int64_t number = 0;  // from 1 on, without gaps
  Kind kind = Kind::measurement;
  std::string request;
  std::string answer;

  bool operator==(const JournalEntry&) const = default;
};

// A Journal records every measurement and decision of a job, in order, in an SQLite file
// (docs/journal.md).
//
// A job is a function of its options, its seed and the answers to its requests. So it is resumed by
// running it again from the start: while the journal has entries, it answers from them, and the job
// reaches the same decisions; after the last entry it measures. Anything else that could differ
// between runs, above all the clock, must be a request too.
//
// An entry is written to the operating system before its answer is returned: a killed process loses
// at most the measurement in progress. A Journal is used by one thread, and a file has one writer
// at a time; others may read meanwhile.
class Journal {
 public:
  enum class Start : uint8_t {
    fresh,   // the file must not exist
    reload,  // the file must exist
  };
  Journal(const std::filesystem::path& file, Start start);

  // Returns the recorded answer; after the last entry, calls `measure` and records its answer.
  // Fails if the recorded request differs: then another job wrote the journal.
  std::string ask(std::string_view request, FunctionRef<std::string()> measure);

  // Records a decision. On replay, fails if it differs from the recorded one.
  void record_decision(std::string_view request, std::string_view decision);

  // Whether the next entry comes from the file.
  bool replaying() const { return at_ < recorded_; }
  // Number of entries replayed or written so far.
  int64_t entries() const { return at_; }

 private:
  std::optional<std::string> replay_next(JournalEntry::Kind kind, std::string_view request);
  void append(JournalEntry::Kind kind, std::string_view request, std::string_view answer);

  Database database_;
  int64_t recorded_ = 0;  // entries in the file when it was opened
  int64_t at_ = 0;        // number of the latest entry
  int64_t checksum_ = 0;  // of that entry
};

// All entries of a journal, which may be in use. Fails if one is damaged.
std::vector<JournalEntry> read_journal(const std::filesystem::path& file);

// Problems of a journal, one sentence each; empty if it is intact.
std::vector<std::string> check_journal(const std::filesystem::path& file);

}  // namespace aoe
