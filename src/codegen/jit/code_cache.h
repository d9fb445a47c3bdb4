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

// A CodeCache finds the code that a process has compiled, by key. It owns the code that was used
// most recently, and finds other code as long as somebody else owns it. The memory of a process
// that compiles kernels for ever is thus bounded. Any thread may call it.
class CodeCache {
 public:
  using CodePtr = std::shared_ptr<const Code>;

  // Owns at most `recent` results.
  explicit CodeCache(size_t recent) : recent_limit_(recent) {}

  // Returns the code for the key, from `make` if it is not known. Callers who ask at the same time
  // share one call. An Error that `make` throws is cached like a result: it would fail again.
  CodePtr get(const std::string& key, const std::function<CodePtr()>& make);

  // Number of keys in memory.
  size_t size() const;

 private:
  struct Entry {
    std::shared_future<CodePtr> future;  // owns the code; invalid once it is not recent any more
    std::weak_ptr<const Code> code;
    std::optional<std::list<const std::string*>::iterator> place;  // in `recent_`, if it is there
  };

  using Entries = std::unordered_map<std::string, Entry>;

  // Marks an entry as the most recently used one.
  void use(Entries::value_type& item);
  // Gives up ownership of the oldest entries beyond the limit. The caller must destroy what it
  // returns without holding the lock, since that may unload code.
  std::vector<std::shared_future<CodePtr>> evict();

  mutable std::mutex mutex_;
  size_t recent_limit_;
  Entries entries_;
  std::list<const std::string*> recent_;  // keys of `entries_`, most recently used first
  size_t sweep_at_ = 0;                   // number of entries at which unowned ones are removed
};

}  // namespace aoe
