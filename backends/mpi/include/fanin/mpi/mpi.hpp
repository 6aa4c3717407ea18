// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <mpi.h>

#include <memory>
#include <string>

#include <fanin/error.hpp>

#pragma GCC visibility push(default)

namespace fanin {

/// What an MPI function said: its name and MPI's own words are in what().
class mpi_error : public error {
 public:
  mpi_error(const std::string& what, int code) : error(what), code_{code} {}
  /// MPI's error code.
  int code() const noexcept { return code_; }

 private:
  int code_;
};

/// The same on all ranks.
struct mpi_options {
  /// Up to so many ranks accumulators are gathered on all of them at once and joined in the order of the ranks; of
  /// more, groups of so many consecutive ones join theirs so, then their first ranks, and so on. At least 2.
  int gather_up_to = 1024;
  /// Ranks compare a hash of what they call (label, reducers and form) before each call, for one more collective, and
  /// throw where it differs, instead of waiting or giving something wrong. All forms wait for it: with several
  /// communicators, calls then come in the same order on all ranks.
  bool check_calls = false;

  friend bool operator==(const mpi_options&, const mpi_options&) = default;
};

namespace detail {

class mpi_state;

}  // namespace detail

/// A communicator over whose ranks reductions go: fanin::over(comm, range). It owns duplicates of the one that it is
/// made of, so that nothing of the application's meets Fanin's messages, whose errors come as mpi_error.
///
/// Making one and its destruction are collective. The destructor waits for what is under way on all ranks, also for
/// parts that a device is still at, whose exchanges it begins; it comes
/// before MPI_Finalize (after it, nothing is freed). Calls over it are collective: all ranks make the same calls, with
/// the same reducers, in the same order. Used by one thread at a time, and, where MPI was initialised for less than
/// MPI_THREAD_SERIALIZED, by the thread that initialised it alone, its pendings too; another one gets state_error (and
/// a pending that is got so has been got).
class mpi {
 public:
  /// Throws state_error where MPI is not initialised, or finalised, invalid_argument for a null communicator, an
  /// inter-communicator and options that do not fit, mpi_error for what MPI says.
  explicit mpi(MPI_Comm communicator, const mpi_options& options = {});
  mpi(const mpi&) = delete;
  mpi& operator=(const mpi&) = delete;
  ~mpi();

  int rank() const noexcept;
  int size() const noexcept;
  const mpi_options& options() const noexcept;

 private:
  friend detail::mpi_state& state_of(const mpi& comm) noexcept { return *comm.state_; }
  std::shared_ptr<detail::mpi_state> state_;
};

}  // namespace fanin

#pragma GCC visibility pop
