// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include <fanin/cuda/recipe.hpp>
#include <fanin/cuda/session.hpp>

#include "state.hpp"

// What plans go by: what the device says of a kernel, and what a tuning may ask for.
namespace fanin::detail {

namespace {

/// How many objects fit beside the bytes that each of so many blocks of a multiprocessor has.
int count_beside(const cuda_objects& beside, int device, int blocks, std::size_t bytes_of_block, int most_of_block) {
  constexpr int granularity = 256;  // in which devices give it to blocks, or a divisor of that
  int of_multiprocessor = 0;
  int reserved = 0;
  FANIN_DETAIL_CHECK_CUDA(
      cudaDeviceGetAttribute(&of_multiprocessor, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device));
  FANIN_DETAIL_CHECK_CUDA(cudaDeviceGetAttribute(&reserved, cudaDevAttrReservedSharedMemoryPerBlock, device));
  const int room = std::min(of_multiprocessor / blocks / granularity * granularity - reserved, most_of_block);
  const int left = std::max(room - static_cast<int>(bytes_of_block), 0);
  return std::min(left / static_cast<int>(beside.bytes_of_one), beside.most);
}

}  // namespace

cuda_kernel_facts kernel_facts(const void* kernel, int device, int block_size, std::size_t shared_bytes,
                               const cuda_objects& beside) {
  const last_error_scope last_error;
  const relaxed_capture_scope relaxed;  // the first question of a kernel loads its code
  cuda_kernel_facts facts;
  cudaFuncAttributes attributes{};
  FANIN_DETAIL_CHECK_CUDA(cudaFuncGetAttributes(&attributes, kernel));
  int major = 0;
  int minor = 0;
  int shared_limit = 0;
  FANIN_DETAIL_CHECK_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  FANIN_DETAIL_CHECK_CUDA(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  FANIN_DETAIL_CHECK_CUDA(cudaDeviceGetAttribute(&shared_limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  facts.compute_capability = std::min({10 * major + minor, attributes.ptxVersion, attributes.binaryVersion});
  facts.starts_early = facts.compute_capability >= 90;
  if (block_size > attributes.maxThreadsPerBlock) return facts;
  const std::size_t bytes_of_block = shared_bytes + attributes.sharedSizeBytes;
  if (bytes_of_block > static_cast<std::size_t>(shared_limit)) return facts;
  constexpr std::size_t shared_without_asking = 48 * 1024;
  if (bytes_of_block + beside.bytes_of_one * static_cast<std::size_t>(beside.most) > shared_without_asking) {
    FANIN_DETAIL_CHECK_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                 shared_limit - static_cast<int>(attributes.sharedSizeBytes)));
  }
  FANIN_DETAIL_CHECK_CUDA(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&facts.resident_blocks, kernel, block_size, shared_bytes));
  if (beside.most > 0 && facts.resident_blocks > 0) {
    facts.objects = count_beside(beside, device, facts.resident_blocks, bytes_of_block, shared_limit);
  }
  return facts;
}

std::uint64_t next_kernel_number() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

void check_tuning(const cuda_tuning& tuning) {
  if (tuning.block_size != 0) {
    if (const char* why = why_invalid_block_size(tuning.block_size)) {
      throw invalid_argument("fanin::cuda::with: block_size " + std::to_string(tuning.block_size) + ": " + why);
    }
  }
  if (tuning.blocks_per_sm < 0 || tuning.grid_size < 0 || tuning.chunks < 0) {
    throw invalid_argument(
        "fanin::cuda::with: blocks_per_sm, grid_size and chunks are counts; 0 leaves them to the strategy");
  }
}

}  // namespace fanin::detail
