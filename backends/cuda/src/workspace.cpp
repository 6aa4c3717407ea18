// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <exception>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "mailboxes.hpp"
#include "state.hpp"

namespace fanin::detail {

namespace {

/// As much as any vector load asks for; what cudaMalloc gives.
constexpr std::size_t alignment = 256;

/// Blocks as nodes of a list, which go from one to another without an allocation.
using workspace_blocks = std::list<workspace_block>;

/// Blocks whose graph is gone. A graph tells so in a callback that may not call CUDA, hence they are kept here for the
/// next capture, or until they are given back. Never destroyed: a graph may outlive every other object of the program.
struct retired_blocks {
  std::mutex mutex;
  workspace_blocks blocks;

  static retired_blocks& instance() {
    static auto* const list = new retired_blocks;
    return *list;
  }

  /// The smallest that will do, instead of what is in `taken`.
  bool take(std::uint64_t context, std::size_t bytes, workspace_blocks& taken) {
    const std::lock_guard lock(mutex);
    auto found = blocks.end();
    for (auto block = blocks.begin(); block != blocks.end(); ++block) {
      if (block->context != context || block->resource != nullptr || block->partial_bytes < bytes) continue;
      if (found == blocks.end() || block->partial_bytes < found->partial_bytes) found = block;
    }
    if (found == blocks.end()) return false;
    taken.clear();
    taken.splice(taken.end(), blocks, found);
    return true;
  }

  void put(workspace_blocks& some) noexcept {
    some.remove_if([](const workspace_block& block) { return block.memory == nullptr; });
    const std::lock_guard lock(mutex);
    blocks.splice(blocks.end(), some);
  }

  /// Takes out what is to be given back, and leaves the smallest. What died with its context is left, and never
  /// touched.
  workspace_blocks take_beyond(std::uint64_t context, std::size_t kept) {
    const std::lock_guard lock(mutex);
    blocks.sort([](const workspace_block& a, const workspace_block& b) { return a.partial_bytes < b.partial_bytes; });
    workspace_blocks beyond;
    std::size_t sum = 0;
    for (auto block = blocks.begin(); block != blocks.end();) {
      const auto one = block++;
      if (one->context != context) continue;
      if (one->resource == nullptr && (sum += one->bytes()) <= kept) continue;
      beyond.splice(beyond.end(), blocks, one);
    }
    return beyond;
  }
};

/// Of a graph that is gone, or that did not take it.
void retire(void* held) {
  auto* const blocks = static_cast<workspace_blocks*>(held);
  retired_blocks::instance().put(*blocks);
  delete blocks;
}

/// cudaMalloc, or null where there is no memory.
void* try_malloc(std::size_t bytes) {
  const last_error_scope last_error;
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, bytes);
  if (status != cudaErrorMemoryAllocation) check_cuda(status, "cudaMalloc(&memory, bytes)", __FILE__, __LINE__);
  return memory;
}

/// Zeroed in the order of `stream`.
workspace_block allocate_block(const cuda_state& state, std::size_t bytes, cudaStream_t stream) {
  workspace_block block{state.context, nullptr, bytes, state.resource};
  block.memory = allocate_memory(state.resource.get(), workspace_block::header + bytes, stream);
  try {
    FANIN_DETAIL_CHECK_CUDA(cudaMemsetAsync(block.memory, 0, block.bytes(), stream));
  } catch (...) {
    deallocate_memory(state.resource.get(), block.memory, block.bytes(), stream);
    throw;
  }
  return block;
}

void deallocate_block(const workspace_block& block, cudaStream_t stream) noexcept {
  if (block.memory != nullptr) deallocate_memory(block.resource.get(), block.memory, block.bytes(), stream);
}

/// What Fanin has of its own in a context, never destroyed.
struct context_service {
  cudaStream_t stream = nullptr;
  void* waits = nullptr;  ///< memory whose release waits for the device: no allocation is needed when it must
};

/// That of the current context, with its lock.
std::pair<context_service&, std::unique_lock<std::mutex>> service() {
  static std::mutex mutex;
  static auto* const services = new std::map<std::uint64_t, context_service>;
  std::unique_lock lock(mutex);
  context_service& own = (*services)[made_context()];
  if (own.waits == nullptr) own.waits = try_malloc(1);
  if (own.stream == nullptr) FANIN_DETAIL_CHECK_CUDA(cudaStreamCreateWithFlags(&own.stream, cudaStreamNonBlocking));
  return {own, std::move(lock)};
}

}  // namespace

cudaStream_t service_stream() { return service().first.stream; }

void* allocate_memory(cuda_resource* resource, std::size_t bytes, cudaStream_t stream) {
  const relaxed_capture_scope relaxed;
  give_back_retired();
  if (resource == nullptr) {
    if (void* const memory = try_malloc(bytes)) return memory;
    give_back_retired(0);
    void* memory = nullptr;
    FANIN_DETAIL_CHECK_CUDA(cudaMalloc(&memory, bytes));
    return memory;
  }
  void* const memory = resource->allocate(bytes, alignment, stream);
  if (memory == nullptr) {
    throw cuda_error(cudaErrorMemoryAllocation,
                     "fanin::cuda: the resource that the application gave allocated null for " + std::to_string(bytes) +
                         " bytes; it must throw where it has none");
  }
  return memory;
}

void deallocate_memory(cuda_resource* resource, void* memory, std::size_t bytes, cudaStream_t stream) noexcept {
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode));
  if (resource == nullptr) {
    static_cast<void>(cudaFree(memory));
  } else {
    resource->deallocate(memory, bytes, alignment, stream);
  }
  static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode));
}

cudaStream_t stream_after_everything() {
  // A stream that captures cannot be waited for. cudaFree waits for the device, of memory that there is; where it
  // fails, that tells of earlier work.
  void* waits = std::exchange(service().first.waits, nullptr);
  if (waits == nullptr) FANIN_DETAIL_CHECK_CUDA(cudaMalloc(&waits, 1));
  static_cast<void>(cudaFree(waits));
  return service_stream();
}

void give_back_retired(std::size_t kept) noexcept {
  try {
    for (const workspace_block& block : retired_blocks::instance().take_beyond(current_context(), kept)) {
      deallocate_block(block, block.resource == nullptr ? nullptr : service_stream());
    }
  } catch (const std::exception&) {
    // No context to give anything back to.
  }
}

void cuda_state::free_outgrown() noexcept {
  for (const workspace_block& block : outgrown) deallocate_block(block, stream);
  outgrown.clear();
}

namespace {

/// Once more, where a call failed: as far as CUDA goes along.
void wait_for_everything() noexcept {
  try {
    static_cast<void>(stream_after_everything());
  } catch (const std::exception&) {
    // Then nothing does.
  }
}

}  // namespace

void cuda_state::release() noexcept {
  try {
    if (made_context() != context) return mailboxes->leave_stream();  // all of it went with its context
    cudaStream_t order = stream;
    if (capture_state_of(stream) == capture_state::none) {
      static_cast<void>(cudaStreamSynchronize(stream));
    } else {
      order = stream_after_everything();
    }
    mailboxes->leave_stream();
    for (const workspace_block& block : outgrown) deallocate_block(block, order);
    deallocate_block(plain_workspace, order);
    deallocate_block(tagged_workspace, order);
    deallocate_block(ranks_workspace, order);
    static_cast<void>(cudaFreeHost(mailbox.host));
    static_cast<void>(cudaFreeHost(partials.host));
    if (owns_stream) static_cast<void>(cudaStreamDestroy(stream));
    give_back_retired();
  } catch (const std::exception&) {
    // The context is lost, and everything in it; or a call failed, and what was not freed is left where it is.
    wait_for_everything();
    mailboxes->leave_stream();
  }
}

workspace_memory cuda_state::own_workspace(workspace_block& block, std::size_t bytes) {
  if (block.memory == nullptr || block.partial_bytes < bytes) {
    const last_error_scope last_error;
    const relaxed_capture_scope relaxed;
    if (block.memory != nullptr) {
      outgrown.push_back(block);
      block = {};
      if (resource != nullptr || is_at_rest(stream)) free_outgrown();
    }
    try {
      block = allocate_block(*this, bytes, stream);
    } catch (const cuda_error& failure) {
      if (failure.code() != cudaErrorMemoryAllocation || outgrown.empty()) throw;
      wait_for_stream(stream);
      free_outgrown();
      block = allocate_block(*this, bytes, stream);
    }
    ++allocations;
  }
  return block.view();
}

captured_node node_before(cudaStream_t stream) noexcept {
  const last_error_scope last_error;
  cudaStreamCaptureStatus status{};
  captured_node before;
  const cudaGraphNode_t* nodes = nullptr;
  std::size_t count = 0;
#if CUDART_VERSION >= 13000
  const cudaGraphEdgeData* edges = nullptr;
  const cudaError_t answer =
      cudaStreamGetCaptureInfo(stream, &status, &before.capture, nullptr, &nodes, &edges, &count);
#else
  const cudaError_t answer = cudaStreamGetCaptureInfo_v2(stream, &status, &before.capture, nullptr, &nodes, &count);
#endif
  if (answer != cudaSuccess || status != cudaStreamCaptureStatusActive || count != 1) return {};
  before.node = nodes[0];
  return before;
}

workspace_memory cuda_state::captured_workspace(std::size_t bytes) {
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
  if (status != cudaStreamCaptureStatusActive) {
    throw state_error("fanin: the capture of this object's stream has been invalidated; end it and begin another");
  }
  // Not on this stream, which would capture it.
  const cudaStream_t aside = service_stream();
  std::unique_ptr<workspace_blocks, decltype(&retire)> held(new workspace_blocks(1), &retire);
  if (resource == nullptr && retired_blocks::instance().take(context, bytes, *held)) {
    FANIN_DETAIL_CHECK_CUDA(cudaMemsetAsync(held->front().memory, 0, held->front().bytes(), aside));
  } else {
    held->front() = allocate_block(*this, bytes, aside);
    ++allocations;
  }
  wait_for_stream(aside);
  const workspace_memory view = held->front().view();
  cudaUserObject_t keeper = nullptr;
  FANIN_DETAIL_CHECK_CUDA(cudaUserObjectCreate(&keeper, held.get(), retire, 1, cudaUserObjectNoDestructorSync));
  static_cast<void>(held.release());  // now the keeper's
  try {
    FANIN_DETAIL_CHECK_CUDA(cudaGraphRetainUserObject(graph, keeper, 1, cudaGraphUserObjectMove));
  } catch (...) {
    static_cast<void>(cudaUserObjectRelease(keeper, 1));
    throw;
  }
  return view;
}

void* pinned_memory::allocate(std::size_t bytes) const {
  const last_error_scope last_error;
  const relaxed_capture_scope relaxed;
  void* memory = nullptr;
  FANIN_DETAIL_CHECK_CUDA(cudaHostAlloc(&memory, bytes, cudaHostAllocMapped));
  return memory;
}

void pinned_memory::free(void* memory) const noexcept {
  const release_scope scope(device);
  try {
    if (made_context() == context) static_cast<void>(cudaFreeHost(memory));
  } catch (const std::exception&) {
    // The context is lost, and everything in it.
  }
}

void cuda_state::reserve(pinned_block& block, std::size_t bytes) {
  if (block.host != nullptr && block.bytes >= bytes) return;
  const last_error_scope last_error;
  const relaxed_capture_scope relaxed;
  if (block.host != nullptr) {
    FANIN_DETAIL_CHECK_CUDA(cudaFreeHost(std::exchange(block, {}).host));
  }
  constexpr std::size_t page = 4096;
  pinned_block larger{nullptr, nullptr, std::max(bytes, page)};
  FANIN_DETAIL_CHECK_CUDA(cudaHostAlloc(&larger.host, larger.bytes, cudaHostAllocMapped));
  try {
    FANIN_DETAIL_CHECK_CUDA(cudaHostGetDevicePointer(&larger.device, larger.host, 0));
  } catch (...) {
    static_cast<void>(cudaFreeHost(larger.host));
    throw;
  }
  std::memset(larger.host, 0, larger.bytes);
  block = larger;
  ++allocations;
}

}  // namespace fanin::detail
