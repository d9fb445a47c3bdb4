#pragma once

#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace aoe {

class Code;

// The code that a process has made, by key. It holds what was used most recently, so that it need
// not be made again, and otherwise only knows what somebody else holds: a process that makes
// kernels for ever does not grow for ever. Any thread may call it.
class CodeCache {
 public:
  using Made = std::shared_ptr<const Code>;

  // Holds at most `recent` results itself.
  explicit CodeCache(size_t recent) : recent_limit_(recent) {}

  // What `make` returns for the key. Callers who ask at the same time share one call. An Error that
  // it throws is remembered like a result: asking again would only take the same time to fail.
  Made get(const std::string& key, const std::function<Made()>& make);

  // Keys in memory.
  size_t size() const;

 private:
  struct Entry {
    std::shared_future<Made> future;  // invalid once it is no longer among the recent ones
    std::weak_ptr<const Code> code;
    std::optional<std::list<const std::string*>::iterator> place;  // in `recent_`, if it is in it
  };

  using Entries = std::unordered_map<std::string, Entry>;

  void use(Entries::value_type& item);
  // Lets go of what is too old. What it returns must be released without the lock.
  std::vector<std::shared_future<Made>> let_go();

  mutable std::mutex mutex_;
  size_t recent_limit_;
  Entries entries_;
  std::list<const std::string*> recent_;  // keys of `entries_`, the latest first
  size_t sweep_at_ = 0;
};

}  // namespace aoe
