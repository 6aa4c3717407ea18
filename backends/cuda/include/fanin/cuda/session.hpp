// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include <fanin/cuda/error.hpp>
#include <fanin/pending.hpp>

namespace fanin::detail {
class cuda_resource;
class cuda_state;  // the library's own
}  // namespace fanin::detail

#pragma GCC visibility push(default)

namespace fanin {

/// Whether a reduction may begin before the kernel before it has ended, which it waits for before it reads anything
/// (programmatic dependent launch; devices of compute capability 9.0 on, strategies that finish in one launch, and
/// calls with many results, whose launches start early behind each other, too). An executable graph with such nodes
/// must not be destroyed while it runs: see docs/contract.md, *Before cudaGraphExecDestroy*.
enum class cuda_early_start {
  /// Where it pays: in a stream, and in a graph behind a node of the same object. In graphs on an H200 it gains 0.5 to
  /// 1 us there, and costs up to 0.4 behind a kernel that lets no other begin.
  automatic,
  on,
  off,
};

/// What a call asks for beyond its strategy's own choice. 0 means: as the strategy says.
struct cuda_tuning {
  int block_size = 0;     ///< threads a block: 32 to 1024, a multiple of 32
  int blocks_per_sm = 0;  ///< blocks on each multiprocessor at most (the device may hold fewer)
  int grid_size = 0;      ///< blocks of the launch, whatever the number of elements; for persistent grids
  int chunks = 0;         ///< n of fold_n
  cuda_early_start early_start = cuda_early_start::automatic;

  friend bool operator==(const cuda_tuning&, const cuda_tuning&) = default;
};

/// What an object launched last.
struct cuda_launch {
  const char* strategy = "";  ///< its name in the catalogue
  int grid_size = 0;
  int block_size = 0;
  std::size_t shared_bytes = 0;  ///< dynamic shared memory a block
  int launches = 1;              ///< of which this was the first

  friend bool operator==(const cuda_launch&, const cuda_launch&) = default;
};

namespace detail {

/// What range policies, buffers and views hold of a fanin::cuda: it stays valid when the object is moved.
struct cuda_handle {
  cuda_state* state = nullptr;
  cuda_tuning tuning = {};
};

/// One device block that a launch combines in: partial results, and counters, which start as zeros. last_block leaves
/// the first, a ticket, at 0, and so are others left; watching_block counts launches in it.
struct workspace_memory {
  static constexpr int counters = 256;

  void* partials = nullptr;
  std::size_t partial_bytes = 0;
  unsigned* counter = nullptr;  ///< the first
};

/// Where a kernel leaves a result for the host: memory of the host that the device writes to. Each 64-bit word holds
/// 32 bits of the result and its sequence number, so that no word needs another one's order, or a fence.
struct cuda_mailbox {
  std::uint64_t* words = nullptr;
  std::uint32_t sequence = 0;
};

/// A mailbox for a result that is got later, and who gets it.
struct cuda_pending {
  cuda_mailbox mailbox;
  pending_handle slot;
};

constexpr int mailbox_words(std::size_t bytes) { return static_cast<int>((bytes + 3) / 4); }

/// What a block may have of in its shared memory beside what it needs.
struct cuda_objects {
  std::size_t bytes_of_one = 1;
  int most = 0;
};

struct cuda_launch_options {
  bool can_start_early = false;
  cuda_early_start early_start = cuda_early_start::automatic;
  int cluster_size = 1;
};

/// A reduction's first launch.
struct cuda_plan {
  const void* kernel = nullptr;
  cuda_launch launch;
  int largest_grid = 1;  ///< what workspace is sized for: a persistent grid's does not grow with n
  int chunks = 1;
  cuda_objects spills;  ///< that a block may have beside its first
  cuda_launch_options options;
};

/// Another number at each call, from 1 on.
std::uint64_t next_kernel_number() noexcept;

/// What a plan follows from, on one object.
struct cuda_plan_key {
  std::uint64_t kernel = 0;  ///< its number
  std::int64_t count = 0;
  std::int64_t units = 0;
  cuda_tuning tuning = {};

  friend bool operator==(const cuda_plan_key&, const cuda_plan_key&) = default;
};
struct remembered_plan {
  cuda_plan_key key;
  cuda_plan plan;
};
inline constexpr int log2_of_plans = 4;  ///< that an object remembers: a loop has few

/// One call on a fanin::cuda: holds its lock, its device as the current one and its NVTX range for its lifetime. The
/// kernels' headers go through this class alone, which is compiled into the library.
class cuda_session {
 public:
  enum class mode {
    blocking,  ///< the host waits, now or later: refused with state_error on a capturing stream
    ordered,   ///< in the stream's order: may be captured
  };

  cuda_session(const cuda_handle& handle, const char* label, mode how, const char* call);
  ~cuda_session();
  cuda_session(const cuda_session&) = delete;
  cuda_session& operator=(const cuda_session&) = delete;

  cudaStream_t stream() const noexcept;
  int device() const noexcept;
  std::uint64_t context() const noexcept;  ///< a number that no other one of the process has
  int multiprocessors() const noexcept;
  /// The most shared memory that a block can have.
  int shared_bytes_of_block() const noexcept;
  bool is_capturing() const noexcept { return capturing_; }

  /// What partial results are in workspace: one kind must not pass for the other.
  enum class partials {
    plain,     ///< accumulators as they are
    tagged,    ///< in units that are tagged by the launch's number
    of_ranks,  ///< what ranks hand each other: its first 8 bytes stay zeros
  };

  /// Workspace for this many bytes of partial results: the object's own, which grows when asked for more, or one of its
  /// own for a captured node, which the graph keeps.
  workspace_memory workspace(partials kind, std::size_t bytes);
  /// What a call leaves there that could not launch all of its kernels is not the next one's: that gets a new one.
  void leave_workspace(partials kind);

  /// Room for so many words, and the sequence number that says they are there. Blocking calls only.
  cuda_mailbox mailbox(int words);
  /// Waits until the kernel has written the mailbox's first `words` words, and copies what they carry, 4 bytes each.
  /// Throws cuda_error when the stream failed.
  void wait(const cuda_mailbox& mailbox, void* payload, int words);
  /// A mailbox for a result of exactly so many words, which the session does not wait for.
  cuda_pending pending_mailbox(int words);
  /// Copies device memory to host memory of the object and waits for it; the pointer lives until the next call.
  const void* fetch(const void* from, std::size_t bytes);

  void launch(const void* kernel, const cuda_launch& launch, void** arguments, const cuda_launch_options& options);
  /// Says what last_launch() answers.
  void record(const cuda_launch& launch);
  /// Where the object remembers the plan for such a call, or another one that is forgotten then.
  remembered_plan& remembered(const cuda_plan_key& key) const noexcept {
    constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15;
    const std::uint64_t hash = (key.kernel + static_cast<std::uint64_t>(key.count)) * golden_ratio;
    return plans_[hash >> (64 - log2_of_plans)];
  }

 private:
  void go_to_device(const char* call);
  bool starts_early(const cuda_launch_options& options) const;

  cuda_state* state_;
  remembered_plan* plans_;
  std::unique_lock<std::mutex> lock_;
  int previous_device_ = -1;
  bool capturing_ = false;
  bool labelled_ = false;
};

/// What the device says of a kernel; cached by the caller.
struct cuda_kernel_facts {
  int resident_blocks = 0;  ///< blocks that fit a multiprocessor at once
  /// Whether its code waits for the grid before it (griddepcontrol), so that it may be started before that one's end:
  /// the device and what the code was compiled for must both be of compute capability 9.0 or later.
  bool starts_early = false;
  int compute_capability = 0;  ///< 10 * major + minor, of the device or of the code, whichever is less
  int objects = 0;             ///< of those that were asked for: how many fit without fewer resident blocks
};
cuda_kernel_facts kernel_facts(const void* kernel, int device, int block_size, std::size_t shared_bytes,
                               const cuda_objects& beside);

/// Throws invalid_argument, with why_invalid_block_size's sentence, for a tuning that cannot launch.
void check_tuning(const cuda_tuning& tuning);

/// What a buffer keeps of an object. Once that is gone, which waited for its work, copies run on one of their own.
struct cuda_memory {
  int device = -1;
  std::uint64_t context = 0;  ///< in which the memory is, and with which it goes
  std::weak_ptr<cuda_state> state;
  std::shared_ptr<cuda_resource> resource;  ///< where it is from; null: cudaMalloc
};

/// What the backend does whatever the strategy: see fanin/execution.hpp.
struct cuda_calls {
  using memory_type = cuda_memory;
  static void synchronize(const cuda_handle& handle);
  static void check_memory(const cuda_handle& handle, const void* pointer, const char* what);
  static void* allocate(const cuda_handle& handle, std::size_t bytes);
  static cuda_memory memory(const cuda_handle& handle);
  static void deallocate(const cuda_memory& memory, void* pointer, std::size_t bytes) noexcept;
  static void copy_to_host(const cuda_memory& memory, void* to, const void* from, std::size_t bytes);
  static void copy_from_host(const cuda_memory& memory, void* to, const void* from, std::size_t bytes);

  // For calls over ranks, whose last step comes after an exchange that hosts make.

  static bool is_capturing(const cuda_handle& handle, const char* call);
  /// A mailbox of so many words, which outlives the object, for a kernel that is yet to be launched.
  static cuda_pending place_for(const cuda_handle& handle, int words, const char* call);
  /// Launches a kernel of so many blocks where the memory is, beside the object's stream, which may be gone, and waits
  /// for it. It sees what work had written that the host knows to have ended. Throws state_error where the context is
  /// gone.
  static void run_aside(const cuda_memory& memory, const void* kernel, int grid_size, int block_size, void** arguments,
                        const char* call);
  /// Throws state_error where the memory's context is gone.
  static void check_context(const cuda_memory& memory, const char* call);
  /// Pinned memory of the host, at one address for both, that outlives the object.
  static std::shared_ptr<void> shared_room(const cuda_handle& handle, std::size_t bytes);
};

}  // namespace detail

}  // namespace fanin

#pragma GCC visibility pop
