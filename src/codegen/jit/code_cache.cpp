#include "codegen/jit/code_cache.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace aoe {

CodeCache::CodePtr CodeCache::get(const std::string& key, const std::function<CodePtr()>& make) {
  std::promise<CodePtr> promise;
  std::shared_future<CodePtr> future;
  std::vector<std::shared_future<CodePtr>> gone;
  {
    const std::lock_guard lock(mutex_);
    Entries::value_type& item = *entries_.try_emplace(key).first;
    Entry& entry = item.second;
    if (entry.future.valid()) {
      future = entry.future;
      if (entry.place) use(item);
    } else {
      entry.future = promise.get_future().share();
      if (CodePtr held = entry.code.lock()) {
        promise.set_value(held);
        use(item);
        gone = evict();
        return held;
      }
    }
  }
  if (future.valid()) return future.get();

  CodePtr code;
  bool remembered = true;
  try {
    code = make();
    promise.set_value(code);
  } catch (const Error&) {
    promise.set_exception(std::current_exception());
  } catch (...) {
    // Not cached: what failed for lack of memory may succeed next time.
    remembered = false;
    promise.set_exception(std::current_exception());
  }
  {
    const std::lock_guard lock(mutex_);
    const auto item = entries_.find(key);
    item->second.code = code;
    future = item->second.future;
    if (remembered) use(*item);
    else entries_.erase(item);
    gone = evict();
  }
  return future.get();
}

size_t CodeCache::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

void CodeCache::use(Entries::value_type& item) {
  Entry& entry = item.second;
  if (entry.place) recent_.splice(recent_.begin(), recent_, *entry.place);
  else recent_.push_front(&item.first);
  entry.place = recent_.begin();
}

std::vector<std::shared_future<CodeCache::CodePtr>> CodeCache::evict() {
  std::vector<std::shared_future<CodePtr>> gone;
  while (recent_.size() > recent_limit_) {
    Entry& entry = entries_.find(*recent_.back())->second;
    gone.push_back(std::exchange(entry.future, {}));
    entry.place.reset();
    recent_.pop_back();
  }
  if (entries_.size() < sweep_at_) return gone;
  std::erase_if(entries_, [](const auto& item) {
    return !item.second.future.valid() && item.second.code.expired();
  });
  // Doubling keeps the total time of sweeps proportional to the number of keys asked for.
  sweep_at_ = 2 * std::max(entries_.size(), recent_limit_);
  return gone;
}

}  // namespace aoe
