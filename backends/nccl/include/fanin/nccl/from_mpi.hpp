// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <mpi.h>

#include <memory>

#include <fanin/error.hpp>
#include <fanin/nccl/nccl.hpp>

namespace fanin {

/// A communicator of NCCL's with the ranks of one of MPI's, each with its current device, no two of them the same.
/// Collective. What MPI says, it says as the communicator's error handler has it; where that returns, it is
/// invalid_argument. Keeps nothing of MPI's. Needs MPI's header; the library fanin::nccl does not.
inline std::unique_ptr<nccl> nccl_from_mpi(MPI_Comm communicator, const nccl_options& options = {}) {
  int rank = 0;
  int size = 0;
  nccl_id id{};
  if (MPI_Comm_rank(communicator, &rank) != MPI_SUCCESS || MPI_Comm_size(communicator, &size) != MPI_SUCCESS) {
    throw invalid_argument("fanin::nccl_from_mpi: MPI does not take the communicator");
  }
  if (rank == 0) id = nccl::make_id();
  if (MPI_Bcast(id.data(), static_cast<int>(id.size()), MPI_BYTE, 0, communicator) != MPI_SUCCESS) {
    throw invalid_argument("fanin::nccl_from_mpi: MPI does not take the communicator");
  }
  return std::make_unique<nccl>(id, rank, size, options);
}

}  // namespace fanin
