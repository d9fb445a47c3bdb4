// Reads arbitrary bytes as a journal, and replays it as `--reload` does. An Error is an expected
// result; a replayed answer that is not the recorded one is a bug.
//
// Mutating bytes reaches SQLite and little else: the checksums of entries do not fit any more. So
// most mutations change an entry and write all of them to a new journal.

#include <cstdlib>
#include <memory>
#include <set>

#include "base/error.h"
#include "fuzz/scratch_file.h"
#include "fuzz/text_mutation.h"
#include "tune/runner/journaled_runner.h"

namespace {

using aoe::Journal;
using aoe::JournalEntry;

const aoe::ScratchFile& scratch() {
  static const aoe::ScratchFile file;
  return file;
}

bool is_measurement(const JournalEntry& entry) {
  return entry.kind == JournalEntry::Kind::measurement;
}

void write_journal(const std::vector<JournalEntry>& entries) {
  scratch().clear();
  Journal journal(scratch().path(), Journal::Start::fresh);
  for (const JournalEntry& entry : entries) {
    if (is_measurement(entry)) {
      journal.ask(entry.request, [&] { return entry.answer; });
    } else {
      journal.record_decision(entry.request, entry.answer);
    }
  }
}

// Repeats the requests of the journal, up to the first that cannot be repeated.
void replay(const std::vector<JournalEntry>& entries) {
  Journal journal(scratch().path(), Journal::Start::reload);
  for (const JournalEntry& entry : entries) {
    if (!journal.replaying()) break;
    if (!is_measurement(entry)) {
      journal.record_decision(entry.request, entry.answer);
    } else if (journal.ask(entry.request, [] { return ""; }) != entry.answer) {
      std::abort();
    }
  }
  journal.record_decision("after", "replay");
}

// A runner whose answers are empty.
class NoWorkers : public aoe::Runner {
  aoe::OpenedModel open() override { return {}; }
  aoe::Answer ask(const aoe::Request& /*request*/) override { return {}; }
  void record_decision(const std::string& /*question*/, const std::string& /*decision*/) override {}
};

// What the runner of a job does through the journal in the scratch file, as far as it gets.
void run_job(bool opens) {
  const auto start =
      std::filesystem::exists(scratch().path()) ? Journal::Start::reload : Journal::Start::fresh;
  Journal journal(scratch().path(), start);
  aoe::JournaledRunner runner(journal, [] { return std::make_unique<NoWorkers>(); });
  if (opens) {
    runner.open();
  } else {
    runner.ask({});
  }
}

// The text by which a job asks for nothing.
std::string empty_request() {
  scratch().clear();
  run_job(/*opens=*/false);
  return aoe::read_journal(scratch().path())[0].request;
}

// Gives each answer to the runner of a job, in a journal that has the request for it. A mutated
// journal has one new answer; the others are skipped, because making journals takes time.
void parse_answers(const std::vector<JournalEntry>& entries) {
  static const std::string nothing = empty_request();
  static std::set<std::string> seen;
  for (const JournalEntry& entry : entries) {
    if (!seen.insert(entry.answer).second) continue;
    for (const bool opens : {true, false}) {
      write_journal({{.request = opens ? "open" : nothing, .answer = entry.answer}});
      try {
        run_job(opens);
      } catch (const aoe::Error&) {
      }
    }
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  if (seed % 4 == 0) return LLVMFuzzerMutate(data, size, max_size);
  scratch().write(data, size);
  try {
    std::vector<JournalEntry> entries = aoe::read_journal(scratch().path());
    if (entries.empty()) return LLVMFuzzerMutate(data, size, max_size);
    JournalEntry& entry = entries[seed / 16 % entries.size()];
    std::string& text = seed / 4 % 4 == 0 ? entry.request : entry.answer;
    text = aoe::mutated(text);
    write_journal(entries);
    // Small pages, as in the seeds: there is a limit to the size of an input.
    aoe::Database(scratch().path(), aoe::Database::Access::write)
        .run("PRAGMA journal_mode = DELETE; PRAGMA page_size = 512; VACUUM");
    return aoe::placed(scratch().read(), data, size, max_size);
  } catch (const aoe::Error&) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  scratch().write(data, size);
  aoe::check_journal(scratch().path());
  std::vector<JournalEntry> entries;
  try {
    entries = aoe::read_journal(scratch().path());
    replay(entries);
  } catch (const aoe::Error&) {
  }
  parse_answers(entries);
  return 0;
}
