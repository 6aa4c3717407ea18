// SPDX-License-Identifier: Apache-2.0
#pragma once

/// As much of NCCL's device interface as fanin::nccl uses, for simulated devices: see nccl.h.

#include <cstddef>
#include <cstdint>

#include <nccl.h>

using ncclDevResourceHandle = std::uint32_t;
struct ncclDevResourceRequirements {
  std::size_t bufferSize, bufferAlign;
  ncclDevResourceHandle* outBufferHandle;
};
struct ncclDevCommRequirements {
  ncclDevResourceRequirements* resourceRequirementsList;
};
struct ncclDevComm {
  int nRanks, lsaSize;
  unsigned char* memory;  ///< of all ranks, one behind the other
  std::size_t bytes_of_rank;
};

extern "C" {
ncclResult_t ncclDevCommCreate(ncclComm_t, const ncclDevCommRequirements*, ncclDevComm*);
ncclResult_t ncclDevCommDestroy(ncclComm_t, const ncclDevComm*);
}

inline void* ncclGetResourceBufferLsaPointer(const ncclDevComm& comm, ncclDevResourceHandle, int peer) {
  return comm.memory + static_cast<std::size_t>(peer) * comm.bytes_of_rank;
}
