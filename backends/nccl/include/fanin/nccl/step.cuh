// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include <fanin/cuda/error.hpp>
#include <fanin/cuda/session.hpp>
#include <fanin/detail/ranks_call.hpp>
#include <fanin/error.hpp>
#include <fanin/execution.hpp>
#include <fanin/nccl/exchange.hpp>
#include <fanin/nccl/join.cuh>
#include <fanin/pending.hpp>

/// What calls over NCCL's ranks have in common.
namespace fanin::detail {

/// What is to come from all ranks, of a call whose part was launched, or failed.
template <class Result>
class pending_of_nccl final : public pending_slot {
 public:
  pending_of_nccl(std::shared_ptr<nccl_state> state, pending_handle slot, std::exception_ptr failure, const char* call)
      : state_{std::move(state)}, slot_{std::move(slot)}, failure_{std::move(failure)}, call_{call} {}

  bool is_ready() noexcept override { return slot_->is_ready(); }
  void take(void* to, std::size_t bytes) override {
    bytes_of<nccl_answer<Result>> answer;
    slot_->take(&answer, sizeof(nccl_answer<Result>));
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    if (answer.value.failed != 0) detail::throw_failed_ranks_of_nccl(*state_, answer.value.failed, call_);
    std::memcpy(to, std::addressof(answer.value.result), bytes);
  }
  void release() noexcept override { delete this; }

 private:
  std::shared_ptr<nccl_state> state_;
  pending_handle slot_;
  std::exception_ptr failure_;
  const char* call_;  ///< that waits
};

/// A rank's step in a call: messages by NCCL's kernels.
template <class Exec>
class nccl_step {
 public:
  using handle_type = typename backend<Exec>::handle_type;

  nccl_step(nccl_state& state, const handle_type& handle, const char* name)
      : state_{state}, handle_{handle}, name_{name} {}

 protected:
  /// Before all else, where the options say so.
  void compare(const rank_call& call) const {
    if (!detail::compares_calls(state_)) return;
    if (in_step([&] { return backend<Exec>::is_capturing(handle_, name_); })) {
      throw state_error(std::string(name_) +
                        " over NCCL's ranks: nccl_options::check_calls has the host wait for the other ranks in this "
                        "call, and the object's stream is being captured into a graph; compare calls outside of the "
                        "capture");
    }
    detail::compare_calls(state_, call);
  }

  /// What a rank needs to take part, beside what its part does: a failure of that the others learn of.
  template <class Make>
  auto in_step(const Make& make) const {
    try {
      return make();
    } catch (const std::bad_alloc&) {
      detail::miss_call(state_);
      throw;
    } catch (const cuda_error&) {
      detail::miss_call(state_);
      throw;
    } catch (const nccl_error&) {
      detail::miss_call(state_);
      throw;
    }
  }

  /// Device memory of a call: its own message, and those that come.
  struct room {
    unsigned char* own;
    unsigned char* all;
  };
  room take_room(cuda_session::mode how, std::size_t bytes, int messages) const {
    return in_step([&] {
      cuda_session session(handle_, nullptr, how, name_);
      detail::check_nccl_call(state_, session.device(), name_);
      detail::come_behind_others(state_, handle_, session.stream(), session.is_capturing());
      auto* const memory = static_cast<unsigned char*>(
          session.workspace(cuda_session::partials::of_ranks, bytes * (1 + static_cast<std::size_t>(messages)))
              .partials);
      return room{memory, memory + bytes};
    });
  }
  /// Its own message, which begins with whether the part has failed, to all ranks; or words of it that are added up.
  /// In a session that it makes, for what comes behind them.
  void send(std::optional<cuda_session>& session, const room& of_call, std::size_t bytes, bool has_failed,
            bool is_sum) const {
    in_step([&] {
      session.emplace(handle_, nullptr, cuda_session::mode::ordered, name_);
      constexpr int failed = 1;
      try {
        if (has_failed) {
          FANIN_DETAIL_CHECK_CUDA(cudaMemsetAsync(of_call.own, failed, bytes, session->stream()));
        }
        if (is_sum) {
          detail::nccl_sum(state_, of_call.own, of_call.all, bytes / sizeof(std::uint64_t), session->stream());
        } else {
          detail::nccl_gather(state_, of_call.own, of_call.all, bytes, session->stream());
        }
        if (has_failed) {  // the word is 0 in other calls
          FANIN_DETAIL_CHECK_CUDA(cudaMemsetAsync(of_call.own, 0, sizeof(std::uint64_t), session->stream()));
        }
      } catch (...) {
        session->leave_workspace(cuda_session::partials::of_ranks);
        throw;
      }
    });
  }

  nccl_state& state_;
  handle_type handle_;
  const char* name_;
};

}  // namespace fanin::detail
