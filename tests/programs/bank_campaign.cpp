// Tries banks as many processes use them: bank_campaign kills KILLS | shared SECONDS | speed
// ENTRIES.
//
//   kills   kills a writer at random moments; every entry whose write had returned must be there
//   shared  eight processes write and read one bank; nothing may be lost
//   speed   prints how long a bank of so many entries takes to open, to look up, to list, to merge
//
// Exits with 1 if something was lost or damaged.

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <random>
#include <string_view>

#include "bank/bank_writer.h"
#include "bank/listing.h"
#include "bank/merge.h"
#include "base/error.h"
#include "tests/cpp/bank_entries.h"

namespace aoe {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kProcesses = 8;

// An empty folder that is removed by the destructor.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (fs::temp_directory_path() / "aoe_banks_XXXXXX").string();
    require(mkdtemp(name.data()) != nullptr, "'{}' cannot be made", name);
    path_ = name;
  }
  ~ScratchFolder() { fs::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Bank writable(const fs::path& file) { return Bank::for_writing(file, kSomeTarget.soc_version); }

bool has(const Bank& bank, int number) {
  return bank.find({max_workload(number)}, kSomeTarget)[0].entry.has_value();
}

pid_t in_child(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child != 0) return child;
  try {
    work();
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    _exit(1);
  }
  _exit(0);
}

// The writer reports each entry after it was written, in a pipe.
void run_kills(int kills) {
  const ScratchFolder folder;
  const fs::path file = folder.path() / "op.db";
  writable(file);
  std::mt19937 random(1);
  std::vector<int> written;
  for (int round = 0; round < kills; ++round) {
    int reports[2];
    require(pipe(reports) == 0, "no pipe");
    const pid_t child = in_child([&] {
      for (int i = round * 1000;; ++i) {
        writable(file).put(some_entry(i), std::nullopt);
        if (write(reports[1], &i, sizeof i) != sizeof i) _exit(1);
      }
    });
    close(reports[1]);
    usleep(random() % 30000);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    for (int i = 0; read(reports[0], &i, sizeof i) == sizeof i;) written.push_back(i);
    close(reports[0]);
    const Bank bank = std::move(Bank::for_reading(file).value());
    const std::vector<std::string> problems = problems_of(bank);
    require(problems.empty(), "after {} kills: {}", round + 1, problems.empty() ? "" : problems[0]);
    for (const int i : written) require(has(bank, i), "entry {} is lost", i);
  }
  fmt::print("{} kills, {} entries written, none lost\n", kills, written.size());
}

void run_shared(double seconds) {
  const ScratchFolder folder;
  const fs::path file = folder.path() / "op.db";
  writable(file);
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    children.push_back(in_child([&, p] {
      const auto start = Clock::now();
      int count = 0;
      for (; seconds_since(start) < seconds; ++count) {
        const int number = p * 100000 + count;
        require(writable(file).put(some_entry(number), std::nullopt), "entry {} was refused",
                number);
        const Bank bank = std::move(Bank::for_reading(file).value());
        require(has(bank, number), "entry {} is not there", number);
        require(has(bank, p * 100000), "the first entry of process {} is gone", p);
      }
      writable(file).merge({[&] {
        BankEntry total = some_entry(p * 100000 + count);
        total.gain.samples = count;
        total.processor = "total";
        return total;
      }()});
    }));
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    require(status == 0, "a process failed");
  }
  const Bank bank = std::move(Bank::for_reading(file).value());
  require(problems_of(bank).empty(), "the bank is damaged");
  int64_t expected = kProcesses;
  int64_t entries = 0;
  bank.for_each([&](const StoredEntry& stored) {
    ++entries;
    if (stored.entry.processor == "total") expected += stored.entry.gain.samples;
  });
  require(entries == expected, "{} entries were written, {} are there", expected, entries);
  fmt::print("{} processes wrote {} entries in {:.0f} s, none lost\n", kProcesses, entries,
             seconds);
}

void run_speed(int entries) {
  const ScratchFolder folder;
  const auto filled = [&](const char* name, int first) {
    Bank bank = writable(folder.path() / name);
    BankWriter writer(bank);
    for (int i = first; i < first + entries; ++i) {
      BankEntry entry = some_entry(i);
      entry.total_low = 1 + 0.001 * (i % 997);
      writer.join(entry);
    }
    writer.commit();
    return folder.path() / name;
  };
  const auto timed = [](const char* what, const auto& work) {
    const auto start = Clock::now();
    work();
    fmt::print("{:<34} {:10.3f} ms\n", what, 1e3 * seconds_since(start));
  };
  fs::path first, second;
  timed("write the first bank", [&] { first = filled("first.db", 0); });
  second = filled("second.db", entries / 2);
  std::optional<Bank> bank;
  timed("open", [&] { bank.emplace(std::move(Bank::for_reading(first).value())); });
  std::vector<std::string> workloads;
  for (int i = 0; i < 1000; ++i) workloads.push_back(max_workload(i * 7919 % entries));
  timed("1000 lookups", [&] { bank->find(workloads, kSomeTarget); });
  timed("ls, first page", [&] { list_entries(*bank, {.limit = 50}); });
  timed("ls, first page by date",
        [&] { list_entries(*bank, {.sort = ListingOptions::Sort::date, .limit = 50}); });
  timed("ls, first page of an operator", [&] { list_entries(*bank, {.op = "max", .limit = 50}); });
  std::vector<std::string> skipped;
  timed("merge the second into the first",
        [&] { merge_into(first, joined_entries({second}, skipped), false); });
}

}  // namespace
}  // namespace aoe

int main(int argc, char** argv) {
  const std::string_view what = argc == 3 ? argv[1] : "";
  try {
    if (what == "kills") aoe::run_kills(std::atoi(argv[2]));
    else if (what == "shared") aoe::run_shared(std::atof(argv[2]));
    else if (what == "speed") aoe::run_speed(std::atoi(argv[2]));
    else throw aoe::Error("usage: bank_campaign kills KILLS | shared SECONDS | speed ENTRIES");
    return 0;
  } catch (const aoe::Error& error) {
    fmt::print("{}\n", error.what());
    return 1;
  }
}
