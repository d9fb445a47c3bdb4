#include "tests/cpp/journal_kills.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <random>

#include "base/error.h"
#include "tune/journal/journal.h"

namespace aoe {
namespace {

// Progress of the child, in memory that its parent reads after the child's death.
using Shared = std::atomic<int64_t>;

// Runs the job from its start, by replay first, and never returns.
void run_job(const std::filesystem::path& file, Shared& recorded) {
  Journal journal(file,
                  std::filesystem::exists(file) ? Journal::Start::reload : Journal::Start::fresh);
  for (int64_t number = 1;; ++number) {
    const std::string answer =
        journal.ask(fmt::format("measure {}", number), [&] { return journal_answer(number); });
    if (answer != journal_answer(number)) _exit(3);
    recorded = std::max<int64_t>(recorded, number);
  }
}

std::optional<std::string> failure_after_kill(const std::filesystem::path& file, int64_t recorded) {
  if (!std::filesystem::exists(file)) {
    return recorded == 0 ? std::nullopt : std::optional<std::string>("the journal is gone");
  }
  for (const std::string& problem : check_journal(file)) return problem;
  const auto entries = read_journal(file);
  const auto count = static_cast<int64_t>(entries.size());
  if (count < recorded || count > recorded + 1) {
    return fmt::format("{} entries were recorded, {} are there", recorded, count);
  }
  for (const JournalEntry& entry : entries) {
    if (entry.request != fmt::format("measure {}", entry.number) ||
        entry.answer != journal_answer(entry.number)) {
      return fmt::format("entry {} is another one", entry.number);
    }
  }
  return std::nullopt;
}

}  // namespace

std::string journal_answer(int64_t number) {
  // Sizes from empty to a few database pages; all byte values.
  std::string answer(static_cast<size_t>(number * number * 37 % 9000), '\0');
  for (size_t i = 0; i < answer.size(); ++i) {
    answer[i] = static_cast<char>(static_cast<size_t>(number) * 31 + i * 7);
  }
  return answer;
}

std::optional<std::string> failure_of_kills(const std::filesystem::path& file, int kills,
                                            uint32_t seed) {
  void* const memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return "no shared memory";
  auto& recorded = *new (memory) Shared(0);
  std::mt19937 random(seed);
  std::optional<std::string> failure;
  for (int kill_number = 1; kill_number <= kills && !failure; ++kill_number) {
    const pid_t child = fork();
    if (child == 0) {
      try {
        run_job(file, recorded);
      } catch (const Error& error) {
        fmt::print(stderr, "{}\n", error.what());
      }
      _exit(2);
    }
    // Most kills happen within the first entries after the replay, some before it begins.
    usleep(static_cast<useconds_t>(std::exponential_distribution<double>(1 / 8e3)(random)));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFSIGNALED(status)) failure = fmt::format("the job ended with {}", WEXITSTATUS(status));
    else failure = failure_after_kill(file, recorded);
    if (failure) failure = fmt::format("after {} kills: {}", kill_number, *failure);
  }
  munmap(memory, sizeof(Shared));
  return failure;
}

}  // namespace aoe
