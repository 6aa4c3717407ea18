// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <mpi.h>

#include <fanin/mpi/mpi.hpp>

/// MPI's communicators and their ranks: what it says becomes an exception.
namespace fanin::detail {

inline void check_mpi(int code, const char* function) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw mpi_error(std::string("fanin::mpi: ") + function + ": " + std::string(text, static_cast<std::size_t>(length)),
                  code);
}

/// Whether they are, now; does not wait.
inline bool is_request_over(MPI_Request& request) {
  if (request == MPI_REQUEST_NULL) return true;
  int flag = 0;
  check_mpi(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), "MPI_Test");
  return flag != 0;
}
inline bool are_requests_over(std::vector<MPI_Request>& requests) {
  int flag = 0;
  check_mpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &flag, MPI_STATUSES_IGNORE), "MPI_Testall");
  return flag != 0;
}

/// Empty, or why MPI cannot be called.
inline std::string why_no_mpi() {
  int is_initialised = 0;
  int is_finalised = 0;
  MPI_Initialized(&is_initialised);
  MPI_Finalized(&is_finalised);
  if (is_finalised != 0) return "MPI has been finalised; what uses it ends before MPI_Finalize";
  if (is_initialised == 0) return "MPI is not initialised; call MPI_Init or MPI_Init_thread first";
  return {};
}

/// A communicator of its own. Freed by all of its ranks, unless MPI has been finalised.
class owned_communicator {
 public:
  owned_communicator() = default;
  explicit owned_communicator(MPI_Comm comm) : comm_{comm} {
    if (comm_ != MPI_COMM_NULL) check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }
  owned_communicator(owned_communicator&& other) noexcept : comm_{std::exchange(other.comm_, MPI_COMM_NULL)} {}
  owned_communicator& operator=(owned_communicator&& other) noexcept {
    std::swap(comm_, other.comm_);
    return *this;
  }
  ~owned_communicator() {
    if (comm_ != MPI_COMM_NULL && why_no_mpi().empty()) MPI_Comm_free(&comm_);
  }
  MPI_Comm get() const noexcept { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

inline MPI_Comm duplicate_of(MPI_Comm comm) {
  MPI_Comm own = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(comm, &own), "MPI_Comm_dup");
  return own;
}
inline MPI_Comm part_of(MPI_Comm comm, int color, int key) {
  MPI_Comm part = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split(comm, color, key, &part), "MPI_Comm_split");
  return part;
}
inline int rank_in(MPI_Comm comm) {
  int rank = 0;
  check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  return rank;
}
inline int size_of_comm(MPI_Comm comm) {
  int size = 0;
  check_mpi(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  return size;
}

/// A group of consecutive ranks, whose first one joins what all have. Up and down have communicators of their own, so
/// that calls that go up need no order with those that come down.
struct group_level {
  owned_communicator up;
  owned_communicator down;
  int rank = 0;
  int size = 0;
};

}  // namespace fanin::detail
