// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include <functional>
#include <memory>

#include <fanin/nccl/exchange.hpp>

namespace fanin::detail {

/// Memory of each rank of a communicator that all others' kernels reach, where there is such: NCCL's device
/// communicator has it and says at which addresses.
class peer_memory {
 public:
  peer_memory() = default;
  peer_memory(const peer_memory&) = delete;
  peer_memory& operator=(const peer_memory&) = delete;
  virtual ~peer_memory() = default;

  const nccl_peers& peers() const noexcept { return peers_; }
  /// Before the communicator is aborted, with which the memory goes: kernels that wait for a rank end, and those that
  /// come later do not wait. Waits for a moment. False: they could not be told, and go on.
  virtual bool stop() noexcept = 0;

 protected:
  nccl_peers peers_;
};

/// Collective, on the communicator's device, which is the current one: on all ranks, or null on all. `finish` waits for
/// what NCCL's calls have begun, and throws. Throws error for what CUDA says.
std::unique_ptr<peer_memory> open_peer_memory(ncclComm_t comm, int rank, int size, const nccl_options& options,
                                              const std::function<void(ncclResult_t, const char*)>& finish);

}  // namespace fanin::detail
