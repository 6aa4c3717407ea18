// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include <fanin/error.hpp>

/// As nccl.h has it, which need not be read.
struct ncclComm;
typedef struct ncclComm* ncclComm_t;

#pragma GCC visibility push(default)

namespace fanin {

/// What an NCCL function said: its name and NCCL's own words are in what().
class nccl_error : public error {
 public:
  nccl_error(const std::string& what, int code) : error(what), code_{code} {}
  /// NCCL's ncclResult_t.
  int code() const noexcept { return code_; }

 private:
  int code_;
};

/// The same on all ranks.
struct nccl_options {
  /// So long a host waits for a result, at most. Then it gives the communicator up (ncclCommAbort), since a rank that
  /// does not come leaves the others' kernels waiting without end. A call of one launch waits as long on its device,
  /// and ends by itself.
  std::chrono::milliseconds patience = std::chrono::minutes(10);
  /// On one rank, too, messages go through NCCL: to test, and to measure. Otherwise its calls are the plain ones.
  bool exchanges_alone = false;
  /// Where ranks reach each other's memory, a call is one launch, whose last block waits for the others' parts.
  /// Otherwise, and where this is false, NCCL's own kernels stand between a launch for the part and one that joins.
  bool one_launch = true;
  /// Ranks compare a hash of what they call (label, reducers and form) before each call, and throw state_error where it
  /// differs, instead of waiting or giving something wrong. The host waits for it, and with it for earlier calls that
  /// go by NCCL's kernels; a stream that is being captured is refused (state_error). To find a mistake, not to keep.
  bool check_calls = false;

  friend bool operator==(const nccl_options&, const nccl_options&) = default;
};

/// What ranks make a communicator by: an ncclUniqueId.
using nccl_id = std::array<std::byte, 128>;

namespace detail {

class nccl_state;

}  // namespace detail

/// A communicator of NCCL's, over whose ranks reductions on fanin::cuda go: fanin::over(comm, range). Each rank has a
/// device, the communicator's, on which its objects are.
///
/// Calls over it are collective: all ranks make the same calls, with the same reducers, in the same order, together
/// with whatever else goes over the ncclComm_t, as NCCL has it. Used by one thread at a time; made and destroyed while
/// no stream of the device is being captured. Throws cuda_error for what CUDA says, nccl_error for what NCCL does, at
/// once or by its own looks for asynchronous errors, of which every wait asks. One that has been given up refuses every
/// later call with state_error.
///
/// Calls over two communicators of the same devices may run at the same time, on objects with streams of their own;
/// those objects then say {.early_start = cuda_early_start::off}, since launches that begin early behind a call that
/// waits may take the room of what it waits for (docs/over_ranks.md).
class nccl {
 public:
  /// Borrows a communicator, which outlives this and all results that come later. Collective. Where it has to be given
  /// up it is aborted, as NCCL has no other way: whoever made it does not destroy it then. Throws invalid_argument for
  /// a null one.
  explicit nccl(ncclComm_t communicator, const nccl_options& options = {});
  /// Makes one, of `size` ranks of which this is number `rank`, on the current device. Collective, and waits for the
  /// others, without end; `id` is one rank's make_id(), which the others got from it. Destroyed with this and the last
  /// result that comes later, when the device has done all its work, which that waits for; after graphs that were
  /// captured over it.
  nccl(const nccl_id& id, int rank, int size, const nccl_options& options = {});
  nccl(const nccl&) = delete;
  nccl& operator=(const nccl&) = delete;
  ~nccl();

  /// For all ranks of one communicator. Throws nccl_error.
  static nccl_id make_id();

  int rank() const noexcept;
  int size() const noexcept;
  int device() const noexcept;
  ncclComm_t get() const noexcept;
  const nccl_options& options() const noexcept;
  /// Whether calls are one launch: each rank has a device of its own, all reach each other's memory (NCCL's device
  /// communicator says so), the NCCL that is loaded is the one that Fanin was compiled for, and options allow it.
  /// Decided by all ranks together, once. (Calls whose accumulators have more than 3 KiB take several launches all the
  /// same.) False on one rank whose calls are the plain ones.
  bool is_one_launch() const noexcept;

  /// Throws what has gone wrong since and has not been told: rank_error where a part of another rank failed in an _into
  /// form that has run, whose destination it left as it was; nccl_error for NCCL's asynchronous errors, and where
  /// in an _into form of one launch a rank did not come within nccl_options::patience, which gives the communicator up;
  /// state_error when it has been given up. Does not wait.
  void check() const;

 private:
  friend detail::nccl_state& state_of(const nccl& comm) noexcept { return *comm.state_; }
  std::shared_ptr<detail::nccl_state> state_;
};

}  // namespace fanin

#pragma GCC visibility pop
