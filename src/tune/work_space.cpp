#include "tune/work_space.h"

#include <algorithm>

#include "base/error.h"

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
  return {fs::absolute(folder)};
}

WorkSpace work_space_to_reload(const TuneOptions& options) {
  if (!options.reload->empty()) {
    const WorkSpace named{fs::absolute(*options.reload)};
    require(fs::exists(named.journal()), "--reload: '{}' is no job's folder: it has no journal.db",
            options.reload->string());
    return named;
  }
  const std::string begin = options.model.stem().string() + "_";
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(parent_of(options), error)) {
    const bool same = entry.path().filename().string().starts_with(begin);
    if (same && fs::exists(entry.path() / "journal.db")) found.push_back(entry.path());
  }
  require(!found.empty(), "--reload: there is no job of '{}' in '{}' to go on with",
          options.model.filename().string(), parent_of(options).string());
  // The time is at the end of the name.
  const auto time = [](const fs::path& path) {
    const std::string name = path.filename().string();
    return name.substr(name.size() - std::min(name.size(), timestamp_text({}).size()));
  };
  return {
      fs::absolute(*std::max_element(found.begin(), found.end(), [&](const auto& a, const auto& b) {
        return time(a) < time(b);
      }))};
}

}  // namespace aoe
