// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <exception>
#include <string>

#include <fanin/error.hpp>
#include <fanin/execution.hpp>
#include <fanin/pending.hpp>

/// What calls over MPI's ranks have in common: that their hosts wait.
namespace fanin::detail {

/// A rank's part of a call, whose accumulators are still to come from its backend, as what the exchange takes. What
/// goes wrong with it is the part's, and not the call's, for which other ranks wait.
template <class ToCome, class Accumulators>
class part_under_way : public ToCome {
 public:
  using ToCome::ToCome;

  bool is_ready() noexcept override {
    try {
      return failure_ != nullptr || accumulators_.ready();
    } catch (...) {
      return true;
    }
  }
  /// What may fail.
  template <class Step>
  void attempt(const Step& step) {
    if (failure_ != nullptr) return;
    try {
      step();
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
  /// Why it failed, when it has been taken.
  const std::exception_ptr& failure() const noexcept { return failure_; }

 protected:
  pending<Accumulators> accumulators_;

 private:
  std::exception_ptr failure_;
};

/// A call of an object for which its host waits.
template <class Exec>
class waiting_call {
 public:
  using handle_type = typename backend<Exec>::handle_type;

  waiting_call(const handle_type& handle, const char* name) : handle_{handle}, name_{name} {}

  /// On devices, whose streams may capture.
  void check_may_wait() const {
    if constexpr (!is_host_backend<Exec>) {
      if (backend<Exec>::is_capturing(handle_, name_)) {
        throw state_error(std::string(name_) +
                          " over ranks: the host waits for the other ranks in this call, and the object's stream is "
                          "being captured into a graph; call it outside the capture");
      }
    }
  }
  /// A capture refuses calls that wait, and of those over ranks in other words.
  template <class Call>
  auto in_words(const Call& call) const {
    try {
      return call();
    } catch (const state_error&) {
      check_may_wait();
      throw;
    }
  }

 protected:
  handle_type handle_;
  const char* name_;
};

}  // namespace fanin::detail
