// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include <fanin/cuda/session.hpp>
#include <fanin/nccl/nccl.hpp>
#include <fanin/pending.hpp>

#pragma GCC visibility push(default)

/// What a call over NCCL's ranks asks of the library, which alone knows NCCL.
namespace fanin::detail {

/// Why a call over ranks has no result, as bits of a word.
inline constexpr std::uint64_t part_failed = 1 << 0;
inline constexpr std::uint64_t rank_did_not_come = 1 << 1;

/// What a kernel knows of ranks whose memory it reaches.
struct nccl_peers {
  static constexpr int slots = 3;
  static constexpr int units_of_slot = 256;  ///< of 16 bytes: so long a message of one rank for another may be
  static constexpr std::size_t bytes(int ranks) {
    return std::size_t{slots} * static_cast<std::size_t>(ranks) * units_of_slot * 16;
  }

  unsigned char* memory = nullptr;   ///< rank 0's, where this device reaches it; null: it does not
  std::ptrdiff_t distance = 0;       ///< from one rank's to the next one's
  std::uint32_t* control = nullptr;  ///< the number of the last call; not 0 where no more are to be waited for
  std::uint64_t patience_ns = 0;
  int rank = 0;
  int size = 0;
};
/// Of a communicator whose ranks reach each other's memory.
const nccl_peers& peers_of(const nccl_state& state) noexcept;
/// A launch on the object's stream comes behind those on other streams whose kernels wait for ranks.
void come_behind_others(nccl_state& state, const cuda_handle& handle, cudaStream_t stream, bool is_capturing);

/// This rank is missing in a call, for which it had no memory, or CUDA failed: no later one goes out from here over the
/// communicator, which the others' NCCL would take for that one.
void miss_call(nccl_state& state) noexcept;
/// Throws state_error for a communicator that has been given up, or in a call of which this rank is missing,
/// invalid_argument for an object on another device.
void check_nccl_call(nccl_state& state, int device, const char* call);
struct rank_call;
/// Whether ranks compare their calls; does so, and throws state_error where they are different ones.
bool compares_calls(const nccl_state& state) noexcept;
void compare_calls(nccl_state& state, const rank_call& call);
int ranks_of(const nccl_state& state) noexcept;
/// Whether messages go through NCCL.
bool exchanges(const nccl_state& state) noexcept;
/// Where a kernel leaves how many ranks failed in an _into form: memory of the host.
std::uint64_t* failures_of(const nccl_state& state) noexcept;
/// In the stream's order: all ranks' messages, one behind the other; the sum of all ranks' words, modulo 2^64.
void nccl_gather(nccl_state& state, const void* own, void* all, std::size_t bytes, cudaStream_t stream);
void nccl_sum(nccl_state& state, const void* own, void* sum, std::size_t words, cudaStream_t stream);
/// `slot`, whose waits ask NCCL for its errors, and do not last longer than the options say.
pending_handle watched(nccl_state& state, pending_handle slot);
/// Keeps what results need that come later.
std::shared_ptr<nccl_state> share(nccl_state& state);
/// Throws rank_error, or nccl_error where a rank did not come, which ends the communicator.
[[noreturn]] void throw_failed_ranks_of_nccl(nccl_state& state, std::uint64_t failed, const char* call);

}  // namespace fanin::detail

#pragma GCC visibility pop
