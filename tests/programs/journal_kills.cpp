// Kills a process that writes a journal at random moments: journal_kills [KILLS [SEED]]. Exits with
// 1 if more than the last entry was lost, or a journal was corrupt.

#include "tests/cpp/journal_kills.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>

int main(int argc, char** argv) {
  const int kills = argc > 1 ? std::atoi(argv[1]) : 500;
  const auto seed = static_cast<uint32_t>(argc > 2 ? std::atoi(argv[2]) : 0);
  // A new journal after this many kills: replaying an ever longer one would take most of the time.
  constexpr int kEach = 50;
  std::string folder = (std::filesystem::temp_directory_path() / "aoe_kills_XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 2;
  std::optional<std::string> failure;
  for (int done = 0; done < kills && !failure; done += kEach) {
    const auto number = static_cast<uint32_t>(done);
    failure = aoe::failure_of_kills(fmt::format("{}/{}.db", folder, number),
                                    std::min(kEach, kills - done), seed + number);
  }
  std::filesystem::remove_all(folder);
  if (failure) fmt::print("{}\n", *failure);
  else fmt::print("{} kills, nothing lost\n", kills);
  return failure ? 1 : 0;
}
