// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <memory>
#include <mutex>
#include <vector>

#include <fanin/cuda/resource.hpp>
#include <fanin/cuda/session.hpp>
#include <fanin/detail/shared_rooms.hpp>

namespace fanin::detail {

/// A device block with counters in front of the partial results.
struct workspace_block {
  static constexpr std::size_t header = workspace_memory::counters * sizeof(unsigned);

  std::uint64_t context = 0;  ///< whose memory it is, and with which that dies
  void* memory = nullptr;
  std::size_t partial_bytes = 0;
  std::shared_ptr<cuda_resource> resource;  ///< where it is from; null: cudaMalloc

  std::size_t bytes() const { return memory == nullptr ? 0 : header + partial_bytes; }
  workspace_memory view() const {
    return {static_cast<unsigned char*>(memory) + header, partial_bytes, static_cast<unsigned*>(memory)};
  }
};

/// Pinned host memory that the device writes to.
struct pinned_block {
  void* host = nullptr;
  void* device = nullptr;
  std::size_t bytes = 0;
};

/// A node of a graph under capture.
struct captured_node {
  unsigned long long capture = 0;
  cudaGraphNode_t node = nullptr;

  friend bool operator==(const captured_node&, const captured_node&) = default;
};

/// Of the host, for the device too, where the context is that it was made in.
struct pinned_memory {
  int device;
  std::uint64_t context;

  void* allocate(std::size_t bytes) const;
  void free(void* memory) const noexcept;
};

class mailbox_pool;

/// What others wait for an object's end by, as its first member, which goes last.
struct end_of_object {
  const std::shared_ptr<std::latch> seen = std::make_shared<std::latch>(1);

  end_of_object() = default;
  ~end_of_object() { seen->count_down(); }
  end_of_object(const end_of_object&) = delete;
  end_of_object& operator=(const end_of_object&) = delete;
};

/// Everything a fanin::cuda owns. The mutex is held by the one session there is at a time.
class cuda_state : public std::enable_shared_from_this<cuda_state> {
 public:
  cuda_state(int device, cudaStream_t stream, bool owns_stream, std::shared_ptr<cuda_resource> resource);
  ~cuda_state();
  cuda_state(const cuda_state&) = delete;
  cuda_state& operator=(const cuda_state&) = delete;

  /// The object's own workspace of one kind. Growing does not wait: the outgrown block goes back to its resource in the
  /// stream's order, or is freed when the stream is found at rest, or with the object.
  workspace_memory own_workspace(workspace_block& block, std::size_t bytes);
  /// Workspace for one captured node, which the graph under capture keeps until it and its executables are gone.
  workspace_memory captured_workspace(std::size_t bytes);
  /// Grows a pinned block to at least so many bytes, zeroed. Nothing may be in flight to it.
  void reserve(pinned_block& block, std::size_t bytes);

  const end_of_object end;
  const int device;
  const cudaStream_t stream;
  const bool owns_stream;
  const std::shared_ptr<cuda_resource> resource;  ///< null: cudaMalloc
  const std::uint64_t context;                    ///< in which everything here was made
  const std::shared_ptr<mailbox_pool> mailboxes;  ///< of results that are got later, with which they are shared
  const std::shared_ptr<shared_rooms<pinned_memory>> rooms;  ///< of calls over ranks with many results
  int multiprocessors = 0;
  int shared_bytes_of_block = 0;  ///< the most that a kernel may ask for

  std::mutex mutex;
  workspace_block plain_workspace;
  workspace_block tagged_workspace;
  workspace_block ranks_workspace;
  std::vector<workspace_block> outgrown;
  pinned_block mailbox;   ///< of blocking calls; kernels alone write to it
  pinned_block partials;  ///< what host_finish folds
  std::uint32_t sequence = 0;
  cuda_launch last_launch;
  std::array<remembered_plan, 1 << log2_of_plans> plans;
  captured_node early_node;  ///< what was captured last, if it lets the next one start early
  std::atomic<std::int64_t> allocations{0};

 private:
  void free_outgrown() noexcept;
  void release() noexcept;
};

/// What the driver's interface has beyond the runtime's, found at run time: Fanin does not link the driver.
struct cuda_driver {
  CUresult (*context_id)(CUcontext, unsigned long long*) = nullptr;
  /// What the runtime asks, in less time, and without a trace in cudaGetLastError() of an answer that is no.
  CUresult (*is_capturing)(CUstream, CUstreamCaptureStatus*) = nullptr;

  static const cuda_driver& instance() {
    static const cuda_driver driver = find();
    return driver;
  }

 private:
  static cuda_driver find();
};

/// Makes `device` current for a scope.
class device_scope {
 public:
  explicit device_scope(int device);
  ~device_scope();
  device_scope(const device_scope&) = delete;
  device_scope& operator=(const device_scope&) = delete;

 private:
  int previous_ = -1;
};

/// cudaGetLastError() is the application's: an error that stood there before stays (where CUDA itself does not replace
/// it by a later one), and what failed in this scope, which is thrown or of no consequence, goes. Where calls do fail.
class last_error_scope {
 public:
  last_error_scope() noexcept : is_clear_{cudaPeekAtLastError() == cudaSuccess} {}
  ~last_error_scope() {
    if (is_clear_) static_cast<void>(cudaGetLastError());
  }
  last_error_scope(const last_error_scope&) = delete;
  last_error_scope& operator=(const last_error_scope&) = delete;

 private:
  bool is_clear_;
};

/// Lets this thread do what CUDA forbids by default while a stream, of this thread or another one, captures: to
/// allocate, to free, to query and to wait. None of it concerns that stream here, and it would invalidate the capture.
class relaxed_capture_scope {
 public:
  relaxed_capture_scope();
  ~relaxed_capture_scope();
  relaxed_capture_scope(const relaxed_capture_scope&) = delete;
  relaxed_capture_scope& operator=(const relaxed_capture_scope&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// For a destructor, which has nowhere to report to: `device` current, captures relaxed, and cudaGetLastError() as it
/// was afterwards, as far as CUDA goes along.
class release_scope {
 public:
  explicit release_scope(int device) noexcept;
  ~release_scope();
  release_scope(const release_scope&) = delete;
  release_scope& operator=(const release_scope&) = delete;

 private:
  last_error_scope last_error_;
  int device_;
  int previous_;
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// The current CUDA context's number, which no other one ever has: after cudaDeviceReset() the device has another one.
/// 0 without a context: in a thread that has not called CUDA yet, and right after a reset.
std::uint64_t current_context();
/// The same, with a context made where there is none.
std::uint64_t made_context();

enum class capture_state { none, capturing, of_another };
/// Whether a stream captures. of_another: it is the legacy default stream, and a stream that waits for that captures;
/// of all that CUDA then forbids on it, this question alone leaves the capture valid.
capture_state capture_state_of(cudaStream_t stream);

/// The one node that the next one captured on `stream` will wait for; none where there are several, or it is not known.
captured_node node_before(cudaStream_t stream) noexcept;

/// A stream of Fanin's own in the current context, for what no stream of the application may see: never destroyed.
/// Where captures are relaxed.
cudaStream_t service_stream();

/// Device memory of the current context, from cudaMalloc if `resource` is null. Before cudaMalloc lacks memory, it is
/// given all that Fanin keeps. In the order of `stream`, which does not capture.
void* allocate_memory(cuda_resource* resource, std::size_t bytes, cudaStream_t stream);
/// After all work on `stream` (of cudaMalloc's memory: on the device, which it waits for).
void deallocate_memory(cuda_resource* resource, void* memory, std::size_t bytes, cudaStream_t stream) noexcept;

/// After all work of the device, also that of a stream that captures by now; the stream to go on with. Throws where
/// CUDA does not let it wait. Where captures are relaxed.
cudaStream_t stream_after_everything();

/// Gives back what graphs of this context that are gone had of resources, and, of what they had of cudaMalloc, all
/// beyond `kept` bytes. Waits for the device if there is something to free.
inline constexpr std::size_t kept_for_graphs = std::size_t{16} << 20;
void give_back_retired(std::size_t kept = kept_for_graphs) noexcept;

/// Waits until `stream` has done all its work, or throws what it failed of. Beside any capture but its own.
void wait_for_stream(cudaStream_t stream);
/// Throws state_error: the call's object, or memory, is of another context than the device's current one.
[[noreturn]] void refuse_lost_context(const char* call);
/// Copies, and waits: from or to pageable memory CUDA does so anyway.
void copy_and_wait(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
/// Whether `stream` has done all its work; throws what it failed of. Beside any capture but its own.
bool is_at_rest(cudaStream_t stream);
/// The same, also beside a capture that forbids the question (its own, or one that the legacy stream must not be asked
/// beside): false then, but throws what the device failed of, which every stream tells.
bool is_known_at_rest(cudaStream_t stream);

}  // namespace fanin::detail
