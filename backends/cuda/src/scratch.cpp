// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <vector>

#include "state.hpp"

namespace fanin::detail {

namespace {

/// Blocks whose graph is gone. A graph tells so in a callback that may not call CUDA, hence they are kept here for the
/// next capture. Never destroyed: a graph may outlive every other object of the program.
struct retired_blocks {
  std::mutex mutex;
  std::vector<scratch_block> blocks;

  static retired_blocks& instance() {
    static auto* const list = new retired_blocks;
    return *list;
  }

  bool take(int device, std::size_t bytes, scratch_block& taken) {
    const std::lock_guard lock(mutex);
    const auto found = std::find_if(blocks.begin(), blocks.end(), [&](const scratch_block& block) {
      return block.device == device && block.partial_bytes >= bytes;
    });
    if (found == blocks.end()) return false;
    taken = *found;
    blocks.erase(found);
    return true;
  }

  void put(const scratch_block& block) {
    const std::lock_guard lock(mutex);
    blocks.push_back(block);
  }
};

void retire(void* held) {
  auto* const block = static_cast<scratch_block*>(held);
  retired_blocks::instance().put(*block);
  delete block;
}

/// Zeroes the block on a stream of Fanin's own, so that no stream of the application, which may be capturing, sees it.
void clear(const scratch_block& block) {
  cudaStream_t stream = nullptr;
  FANIN_DETAIL_CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  cudaError_t failed = cudaMemsetAsync(block.memory, 0, scratch_block::header + block.partial_bytes, stream);
  if (failed == cudaSuccess) failed = cudaStreamSynchronize(stream);
  static_cast<void>(cudaStreamDestroy(stream));
  FANIN_DETAIL_CHECK_CUDA(failed);
}

scratch_block allocate_block(int device, std::size_t bytes) {
  scratch_block block{device, nullptr, bytes};
  FANIN_DETAIL_CHECK_CUDA(cudaMalloc(&block.memory, scratch_block::header + bytes));
  try {
    clear(block);
  } catch (...) {
    static_cast<void>(cudaFree(block.memory));
    throw;
  }
  return block;
}

}  // namespace

void cuda_state::free_outgrown() noexcept {
  for (const scratch_block& block : outgrown) static_cast<void>(cudaFree(block.memory));
  outgrown.clear();
}

cuda_scratch cuda_state::own_scratch(scratch_block& block, std::size_t bytes) {
  if (block.memory == nullptr || block.partial_bytes < bytes) {
    const last_error_scope last_error;
    const relaxed_capture_scope relaxed;
    if (block.memory != nullptr) {
      outgrown.push_back(block);
      block = {};
      if (is_at_rest(stream)) free_outgrown();
    }
    try {
      block = allocate_block(device, bytes);
    } catch (const cuda_error& failure) {
      if (failure.code() != cudaErrorMemoryAllocation || outgrown.empty()) throw;
      wait_for_stream(stream);
      free_outgrown();
      block = allocate_block(device, bytes);
    }
    ++allocations;
  }
  return block.view();
}

cuda_scratch cuda_state::captured_scratch(std::size_t bytes) {
  const last_error_scope last_error;
  const relaxed_capture_scope relaxed;
  cudaStreamCaptureStatus status{};
  unsigned long long id = 0;
  cudaGraph_t graph = nullptr;
#if CUDART_VERSION >= 13000
  FANIN_DETAIL_CHECK_CUDA(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, nullptr, nullptr, nullptr));
#else
  FANIN_DETAIL_CHECK_CUDA(cudaStreamGetCaptureInfo_v2(stream, &status, &id, &graph, nullptr, nullptr));
#endif
  auto held = std::make_unique<scratch_block>();
  if (retired_blocks::instance().take(device, bytes, *held)) {
    clear(*held);
  } else {
    *held = allocate_block(device, bytes);
    ++allocations;
  }
  cudaUserObject_t keeper = nullptr;
  const cudaError_t created = cudaUserObjectCreate(&keeper, held.get(), retire, 1, cudaUserObjectNoDestructorSync);
  if (created != cudaSuccess) {
    retired_blocks::instance().put(*held);
    FANIN_DETAIL_CHECK_CUDA(created);
  }
  const cuda_scratch view = held->view();
  static_cast<void>(held.release());  // now the keeper's
  const cudaError_t retained = cudaGraphRetainUserObject(graph, keeper, 1, cudaGraphUserObjectMove);
  if (retained != cudaSuccess) {
    static_cast<void>(cudaUserObjectRelease(keeper, 1));
    FANIN_DETAIL_CHECK_CUDA(retained);
  }
  return view;
}

void cuda_state::reserve(pinned_block& block, std::size_t bytes) {
  if (block.host != nullptr && block.bytes >= bytes) return;
  const last_error_scope last_error;
  const relaxed_capture_scope relaxed;
  if (block.host != nullptr) {
    FANIN_DETAIL_CHECK_CUDA(cudaFreeHost(block.host));
    block = {};
  }
  constexpr std::size_t page = 4096;
  pinned_block larger{nullptr, nullptr, std::max(bytes, page)};
  FANIN_DETAIL_CHECK_CUDA(cudaHostAlloc(&larger.host, larger.bytes, cudaHostAllocMapped));
  block = larger;
  ++allocations;
  std::memset(block.host, 0, block.bytes);
  FANIN_DETAIL_CHECK_CUDA(cudaHostGetDevicePointer(&block.device, block.host, 0));
}

}  // namespace fanin::detail
