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

// What a journal holds: a question and its answer, as bytes that mean nothing to it.
struct JournalEntry {
  enum class Kind : uint8_t { measurement, decision };
  int64_t number = 0;  // from 1 on, without gaps
  Kind kind = Kind::measurement;
  std::string request;
  std::string answer;

  bool operator==(const JournalEntry&) const = default;
};

// Every measurement and decision of a job, in order, in an SQLite file (docs/journal.md).
//
// A job is a function of its options, its seed and the answers to what it asks. So it is resumed by
// running it again from the start: as long as the journal has entries it answers from them, and the
// job comes to where it was with the same decisions; from then on it measures. Whatever else could
// differ from run to run, the clock above all, must be asked for too.
//
// An entry is the system's to keep before its answer is returned: a process that is killed loses at
// most the measurement it was at. For one thread, and one writer at a time; others may read
// meanwhile.
class Journal {
 public:
  enum class Start : uint8_t {
    fresh,   // there must be no such file
    reload,  // there must be one
  };
  Journal(const std::filesystem::path& file, Start start);

  // The recorded answer, or what `measure` returns, recorded. Fails if something else was asked at
  // this point: then the job is not the one that wrote the journal.
  std::string ask(std::string_view request, FunctionRef<std::string()> measure);

  // Records what was decided; on replay, fails unless the same was.
  void record_decision(std::string_view request, std::string_view decision);

  // Whether the next entry comes from the file.
  bool replaying() const { return at_ < recorded_; }
  // Entries asked for so far.
  int64_t entries() const { return at_; }

 private:
  std::optional<std::string> replay_next(JournalEntry::Kind kind, std::string_view request);
  void append(JournalEntry::Kind kind, std::string_view request, std::string_view answer);

  Database database_;
  int64_t recorded_ = 0;  // in the file when it was opened
  int64_t at_ = 0;
  int64_t checksum_ = 0;  // of the entry at `at_`
};

// All entries so far of a journal that may be in use. Fails where one is damaged.
std::vector<JournalEntry> read_journal(const std::filesystem::path& file);

// What is wrong with a journal, a sentence each; nothing if it is whole.
std::vector<std::string> check_journal(const std::filesystem::path& file);

}  // namespace aoe
