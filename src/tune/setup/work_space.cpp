#include "tune/setup/work_space.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"

namespace aoe {
namespace {

namespace fs = std::filesystem;

fs::path parent_of(const TuneOptions& options) { return options.work_path / "aoe_workspace"; }

void make(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  require(!error, "the work space '{}' cannot be made: {}", folder.string(), error.message());
}

}  // namespace

fs::path WorkSpace::model() const {
  const fs::path results = folder / "tunespace" / "result";
  make(results);
  return results / (folder.filename().string() + "_tune.om");
}

WorkSpace new_work_space(const TuneOptions& options, SystemTime now) {
  const fs::path folder =
      parent_of(options) / (options.model.stem().string() + "_" + timestamp_text(now));
  make(folder);
  return {fs::absolute(folder).lexically_normal()};
}

WorkSpace work_space_to_reload(const TuneOptions& options) {
  if (!options.reload->empty()) {
    const WorkSpace named{fs::absolute(*options.reload)};
    require(fs::exists(named.journal()), "--reload: '{}' is no job's folder: it has no journal.db",
            options.reload->string());
    return named;
  }
  const std::string begin = options.model.stem().string() + "_";
  const size_t length = begin.size() + timestamp_text({}).size();
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(parent_of(options), error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(begin) || name.size() != length) continue;
    const fs::path journal = WorkSpace{entry.path()}.journal();
    // In a folder that others may write to, theirs are no jobs of this user.
    if (fs::exists(journal) && !foreign_owner(journal)) found.push_back(entry.path());
  }
  require(!found.empty(), "--reload: there is no job of '{}' in '{}' to resume",
          options.model.filename().string(), parent_of(options).string());
  // Names differ only in the timestamp at their end, so this order is chronological.
  std::sort(found.begin(), found.end());
  const auto last = std::find_if(found.rbegin(), found.rend(), [](const fs::path& folder) {
    return !fs::exists(WorkSpace{folder}.finished());
  });
  require(last != found.rend(),
          "--reload: all jobs of '{}' in '{}' are finished; start a new one, or name the folder of "
          "one to show its result again",
          options.model.filename().string(), parent_of(options).string());
  return {fs::absolute(*last).lexically_normal()};
}

}  // namespace aoe
