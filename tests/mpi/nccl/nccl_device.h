// SPDX-License-Identifier: Apache-2.0
#pragma once

/// As much of NCCL's device interface as fanin::nccl uses: see nccl.h.

#include <cstddef>
#include <cstdint>

#include <nccl.h>
#include <fanin/macros.hpp>

using ncclDevResourceHandle = std::uint32_t;
struct ncclDevResourceRequirements {
  std::size_t bufferSize, bufferAlign;
  ncclDevResourceHandle* outBufferHandle;
};
struct ncclDevCommRequirements {
  ncclDevResourceRequirements* resourceRequirementsList;
};
struct ncclDevComm {
  static constexpr int most_ranks = 8;
  int nRanks, lsaSize;
  unsigned char* memory[most_ranks];  ///< of each
  std::size_t bytes_of_rank;
};

extern "C" {
ncclResult_t ncclDevCommCreate(ncclComm_t, const ncclDevCommRequirements*, ncclDevComm*);
ncclResult_t ncclDevCommDestroy(ncclComm_t, const ncclDevComm*);
}

FANIN_FUNCTION inline void* ncclGetResourceBufferLsaPointer(const ncclDevComm& comm, ncclDevResourceHandle, int peer) {
  return comm.memory[peer];
}
