// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include <fanin/nccl/nccl.hpp>
#include <fanin/pending.hpp>

#pragma GCC visibility push(default)

/// What a call over NCCL's ranks asks of the library, which alone knows NCCL.
namespace fanin::detail {

/// Throws state_error for a communicator that has been given up, invalid_argument for an object on another device.
void check_nccl_call(nccl_state& state, int device, const char* call);
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
/// Throws rank_error.
[[noreturn]] void throw_failed_ranks_of_nccl(const char* call);

}  // namespace fanin::detail

#pragma GCC visibility pop
