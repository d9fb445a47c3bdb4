#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace aoe {

template <typename Signature>
class FunctionRef;

// A non-owning reference to a callable, for parameters that are only called before the callee
// returns. Unlike std::function it never allocates.
template <typename Result, typename... Args>
class FunctionRef<Result(Args...)> {
 public:
  template <typename Fn>
    requires(!std::is_same_v<std::remove_cvref_t<Fn>, FunctionRef> &&
             std::is_invocable_r_v<Result, Fn&, Args...>)
  FunctionRef(Fn&& fn)  // NOLINT(google-explicit-constructor): callers pass lambdas
      : fn_(const_cast<void*>(static_cast<const void*>(std::addressof(fn)))),
        call_([](void* held, Args... args) -> Result {
          return (*static_cast<std::remove_reference_t<Fn>*>(held))(std::forward<Args>(args)...);
        }) {}

  Result operator()(Args... args) const { return call_(fn_, std::forward<Args>(args)...); }

 private:
  void* fn_;
  Result (*call_)(void*, Args...);
};

}  // namespace aoe
