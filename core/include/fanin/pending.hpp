// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <fanin/error.hpp>

#pragma GCC visibility push(default)

namespace fanin {

namespace detail {

/// Where a backend delivers one result later than its call returns. Whoever holds it owns it until release().
class pending_slot {
 public:
  pending_slot() = default;
  pending_slot(const pending_slot&) = delete;
  pending_slot& operator=(const pending_slot&) = delete;

  /// Whether take() would not wait: the result is there, or will not come. Does not wait.
  virtual bool is_ready() noexcept = 0;
  /// Waits for the result and copies it; throws what went wrong instead.
  virtual void take(void* to, std::size_t bytes) = 0;
  /// Gives it back, whether or not the result has come.
  virtual void release() noexcept = 0;

 protected:
  ~pending_slot() = default;
};

struct release_pending {
  void operator()(pending_slot* slot) const noexcept { slot->release(); }
};
using pending_handle = std::unique_ptr<pending_slot, release_pending>;

/// What a call has to give whose results stand elsewhere: that they do.
struct no_result {};

/// Room for a T whose bytes are copied into it.
template <class T>
union bytes_of {
  bytes_of() {}
  ~bytes_of() {}
  T value;
};

}  // namespace detail

/// A result that is still to come: what the `_async` forms of calls return. Move-only. pending<void> is of a call whose
/// results go to a destination: get() returns when they stand there.
///
/// It belongs to no object: it may outlive the one that it came from, be moved to another thread and used there (by one
/// thread at a time), and go away unread, which waits for nothing. On CUDA it takes its place in memory of the host
/// from the object, which is used again and allocated only where more of a size are outstanding than ever before.
template <class Result>
class pending {
 public:
  /// What there is to get of a backend: a Result, or for void that all of it is done.
  using value_type = std::conditional_t<std::is_void_v<Result>, detail::no_result, Result>;

  /// Empty: there is nothing to get.
  pending() = default;
  /// For backends: a result that is there, what is to be thrown instead, or where a result will be.
  explicit pending(const value_type& result) : result_{result} {}
  explicit pending(std::exception_ptr failure) noexcept : failure_{std::move(failure)} {}
  explicit pending(detail::pending_handle slot) noexcept : slot_{std::move(slot)} {}

  pending(pending&& other) noexcept
      : result_{std::exchange(other.result_, std::nullopt)},
        failure_{std::exchange(other.failure_, nullptr)},
        slot_{std::move(other.slot_)} {}
  pending& operator=(pending&& other) noexcept {
    pending taken(std::move(other));
    std::swap(result_, taken.result_);
    std::swap(failure_, taken.failure_);
    std::swap(slot_, taken.slot_);
    return *this;
  }
  ~pending() = default;

  /// Whether there is something to get: not after get(), a move away, or the default constructor.
  bool valid() const noexcept { return result_.has_value() || failure_ != nullptr || slot_ != nullptr; }

  /// Whether get() would return or throw without a wait; never waits itself. True also when the result will not come,
  /// because something failed: get() throws that. Throws state_error where valid() is false.
  bool ready() const {
    require("fanin::pending::ready");
    return slot_ == nullptr || slot_->is_ready();
  }

  /// Waits for this result, not for what came after it on the object, and gives it, once: valid() is false then, also
  /// where it throws. What a functor wrote beside its value is not there for the host yet: synchronize() the object for
  /// that (of a pending<void>, and of runs, all of the call's work has ended, and everything that it wrote is there,
  /// where the host reaches it). Throws what went wrong since the call: on CUDA a cuda_error, within a second, and a
  /// state_error after a cudaDeviceReset; on serial what the functor threw; and a state_error where valid() is false.
  Result get() {
    require("fanin::pending::get");
    const pending taken(std::move(*this));
    if (taken.failure_ != nullptr) std::rethrow_exception(taken.failure_);
    if constexpr (std::is_void_v<Result>) {
      detail::no_result done;
      if (taken.slot_ != nullptr) taken.slot_->take(&done, sizeof(done));
    } else {
      if (taken.slot_ == nullptr) return *taken.result_;
      detail::bytes_of<Result> result;
      taken.slot_->take(&result, sizeof(Result));
      return result.value;
    }
  }

 private:
  void require(const char* call) const {
    if (!valid()) {
      throw state_error(std::string(call) +
                        ": there is no result in it: it was got, moved from, or never given one; keep what get() "
                        "returned, and use the fanin::pending that it was moved to");
    }
  }

  std::optional<value_type> result_;
  std::exception_ptr failure_;
  detail::pending_handle slot_;
};

namespace detail {

/// What an `_async` form gives whose call gives a Result: nothing where that is void, so that what is wrong with its
/// reducers is said in words, and nothing else.
template <class Result>
struct pending_of {
  using type = pending<Result>;
};
template <>
struct pending_of<void> {
  using type = void;
};
template <class Result>
using pending_t = typename pending_of<Result>::type;

}  // namespace detail

}  // namespace fanin

#pragma GCC visibility pop
