// SPDX-License-Identifier: Apache-2.0
#include <fanin/nccl/nccl.hpp>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <fanin/cuda/session.hpp>
#include <fanin/detail/ranks_call.hpp>
#include <fanin/nccl/exchange.hpp>

#include "checks.hpp"
#include "compared_calls.hpp"
#include "peer_memory.hpp"

namespace fanin {

namespace detail {

namespace {

/// Makes a device the current one meanwhile.
class on_device {
 public:
  explicit on_device(int device) : device_{device}, before_{device} {
    static_cast<void>(cudaGetDevice(&before_));
    if (before_ != device_) static_cast<void>(cudaSetDevice(device_));
  }
  on_device(const on_device&) = delete;
  on_device& operator=(const on_device&) = delete;
  ~on_device() {
    if (before_ != device_) static_cast<void>(cudaSetDevice(before_));
  }

 private:
  int device_;
  int before_;
};

/// Lets this thread do what CUDA forbids by default while any stream captures, and what concerns none that does.
class while_others_capture {
 public:
  while_others_capture() { static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  while_others_capture(const while_others_capture&) = delete;
  while_others_capture& operator=(const while_others_capture&) = delete;
  ~while_others_capture() { static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode_)); }

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace

class nccl_state : public std::enable_shared_from_this<nccl_state> {
 public:
  nccl_state(ncclComm_t communicator, const nccl_options& chosen) : options{chosen}, comm{communicator} {
    if (comm == nullptr) throw invalid_argument("fanin::nccl: the communicator is null");
    begin();
  }
  /// With a communicator of its own, which ends with it.
  nccl_state(const ncclUniqueId& id, int of_rank, int of_ranks, const nccl_options& chosen)
      : options{chosen}, comm{initialised(id, of_rank, of_ranks)}, owns_{true} {
    begin();
  }
  nccl_state(const nccl_state&) = delete;
  nccl_state& operator=(const nccl_state&) = delete;
  ~nccl_state() { release(); }

  void require(const char* call) const {
    if (is_given_up_) {
      throw state_error(std::string(call) +
                        " over NCCL's ranks: the communicator has been given up, since the others did not come in "
                        "time or NCCL failed; make another one");
    }
  }
  void require_in_step(const char* call) const {
    if (has_missed_call_) {
      throw state_error(std::string(call) +
                        " over NCCL's ranks: this rank could not take part in a call before, for want of memory or by "
                        "an error of CUDA's, of which the other ranks could not be told and for which they wait; make "
                        "another communicator");
    }
  }
  void miss_call() noexcept { has_missed_call_ = true; }
  /// What NCCL says when nobody has asked.
  void check_errors() {
    ncclResult_t found = ncclSuccess;
    check_nccl(ncclCommGetAsyncError(comm, &found), "ncclCommGetAsyncError", comm);
    if (found == ncclSuccess || found == ncclInProgress) return;
    give_up();
    throw_nccl(found, "a collective", nullptr);
  }
  /// Of a communicator that does not block NCCL's calls are in progress for a while.
  void finish(ncclResult_t code, const char* function) {
    if (code != ncclInProgress) return check_nccl(code, function, comm);
    const auto begin = std::chrono::steady_clock::now();
    while (code == ncclInProgress) {
      check_nccl(ncclCommGetAsyncError(comm, &code), "ncclCommGetAsyncError", comm);
      wait_no_longer(begin);
      std::this_thread::yield();
    }
    check_nccl(code, function, comm);
  }
  void wait_no_longer(std::chrono::steady_clock::time_point begin) {
    const auto waited = std::chrono::steady_clock::now() - begin;
    if (std::chrono::duration_cast<std::chrono::milliseconds>(waited) > options.patience) throw_not_come();
  }
  [[noreturn]] void throw_not_come() {
    give_up();
    throw nccl_error("fanin::nccl: after " + std::to_string(options.patience.count()) +
                         " ms the result of all ranks had not come; the communicator has been given up "
                         "(ncclCommAbort). A rank made another call, or none, or its device failed",
                     static_cast<int>(ncclSystemError));
  }
  /// A launch on the stream comes behind those on the last one, on which the event is recorded only now: its object is
  /// there, or waited for its work.
  void come_behind_others(const cuda_handle& handle, cudaStream_t stream) {
    if (stream == last_stream_ && !last_object_.expired()) return;  // a new stream may have an old one's address
    if (last_object_.lock() != nullptr) {
      cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
      check_cuda_of_nccl(cudaStreamIsCapturing(last_stream_, &status), "cudaStreamIsCapturing");
      if (status != cudaStreamCaptureStatusNone) {
        throw state_error(
            "fanin over NCCL's ranks: the stream of the call before this one over the communicator is being captured, "
            "and this call cannot come behind it; end the capture first, or make the call on that object");
      }
      check_cuda_of_nccl(cudaEventRecord(behind_, last_stream_), "cudaEventRecord");
      check_cuda_of_nccl(cudaStreamWaitEvent(stream, behind_, 0), "cudaStreamWaitEvent");
    }
    last_object_ = cuda_calls::memory(handle).state;
    last_stream_ = stream;
  }
  bool compares_calls() const noexcept { return compared_ != nullptr; }
  /// Waits for the other ranks.
  void compare(const rank_call& call) {
    require(call.name);
    require_in_step(call.name);
    const on_device here(device);
    const while_others_capture allowed;
    const std::uint64_t hash = hash_of(call);
    try {
      compared_->tell(hash, [&](const void* own, void* all, std::size_t bytes, cudaStream_t stream) {
        finish(ncclAllGather(own, all, bytes, ncclUint8, comm, stream), "ncclAllGather");
      });
      const auto begin = std::chrono::steady_clock::now();
      while (!compared_->is_told()) {
        check_errors();
        wait_no_longer(begin);
        std::this_thread::yield();
      }
    } catch (...) {
      miss_call();
      throw;
    }
    for (int other = 0; other < size; ++other) {
      if (compared_->hash_of_rank(other) == hash) continue;
      throw state_error(std::string(call.name) + " over NCCL's ranks: ranks make different calls; that of this one, " +
                        "which rank " + std::to_string(other) + " does not make, has " + words_of_call(call));
    }
  }
  const nccl_peers& peers() const noexcept { return peers_ == nullptr ? no_peers_ : peers_->peers(); }
  std::uint64_t take_failures() noexcept { return __atomic_exchange_n(failures_, 0, __ATOMIC_RELAXED); }

  const nccl_options options;
  const ncclComm_t comm;
  int rank = 0;
  int size = 1;
  int device = 0;
  std::uint64_t* failures_of_device = nullptr;

 private:
  static ncclComm_t initialised(const ncclUniqueId& id, int of_rank, int of_ranks) {
    ncclComm_t made = nullptr;
    check_nccl(ncclCommInitRank(&made, of_ranks, id, of_rank), "ncclCommInitRank");
    return made;
  }
  /// A constructor that throws has no destructor.
  void begin() {
    try {
      check_nccl(ncclCommUserRank(comm, &rank), "ncclCommUserRank", comm);
      check_nccl(ncclCommCount(comm, &size), "ncclCommCount", comm);
      check_nccl(ncclCommCuDevice(comm, &device), "ncclCommCuDevice", comm);
      const on_device here(device);
      void* memory = nullptr;
      check_cuda_of_nccl(cudaHostAlloc(&memory, sizeof(std::uint64_t), cudaHostAllocMapped), "cudaHostAlloc");
      std::memset(memory, 0, sizeof(std::uint64_t));
      failures_ = static_cast<std::uint64_t*>(memory);
      void* of_device = nullptr;
      check_cuda_of_nccl(cudaHostGetDevicePointer(&of_device, memory, 0), "cudaHostGetDevicePointer");
      failures_of_device = static_cast<std::uint64_t*>(of_device);
      check_cuda_of_nccl(cudaEventCreateWithFlags(&behind_, cudaEventDisableTiming), "cudaEventCreateWithFlags");
      if (size > 1 || options.exchanges_alone) {
        if (options.check_calls) compared_ = std::make_unique<compared_calls>(size);
        peers_ = open_peer_memory(comm, rank, size, options,
                                  [this](ncclResult_t code, const char* function) { finish(code, function); });
      }
    } catch (...) {
      release();
      throw;
    }
  }
  void give_up() noexcept {
    if (std::exchange(is_given_up_, true)) return;
    const on_device here(device);  // any thread may wait for a result
    const bool is_told = [&] {
      const while_others_capture allowed;
      return peers_ == nullptr || peers_->stop();
    }();
    if (is_told) static_cast<void>(ncclCommAbort(comm));  // with which memory goes that kernels look at
  }
  void release() noexcept {
    {
      const on_device here(device);
      if (failures_ != nullptr) {  // behind results that nobody has got, and kernels that may write there
        static_cast<void>(cudaDeviceSynchronize());
        static_cast<void>(cudaFreeHost(failures_));
      }
      peers_.reset();
      compared_.reset();
      if (behind_ != nullptr) static_cast<void>(cudaEventDestroy(behind_));
    }
    if (owns_ && !is_given_up_) static_cast<void>(ncclCommDestroy(comm));
  }

  bool owns_ = false;
  bool is_given_up_ = false;
  bool has_missed_call_ = false;
  std::uint64_t* failures_ = nullptr;
  std::unique_ptr<peer_memory> peers_;
  std::unique_ptr<compared_calls> compared_;
  nccl_peers no_peers_;
  std::weak_ptr<cuda_state> last_object_;
  cudaStream_t last_stream_ = nullptr;
  cudaEvent_t behind_ = nullptr;
};

namespace {

class watched_slot final : public pending_slot {
 public:
  watched_slot(std::shared_ptr<nccl_state> state, pending_handle slot)
      : state_{std::move(state)}, slot_{std::move(slot)} {}

  bool is_ready() noexcept override {
    if (slot_->is_ready()) return true;
    try {
      state_->require("fanin::pending::ready");
      state_->check_errors();
      return false;
    } catch (...) {
      return true;  // get() says it
    }
  }
  void take(void* to, std::size_t bytes) override {
    constexpr int looks_before_a_question = 64;
    constexpr int looks_before_a_yield = 1'000;
    const auto begin = std::chrono::steady_clock::now();
    for (int looks = 0; !slot_->is_ready(); ++looks) {
      state_->require("fanin::pending::get");
      if (looks % looks_before_a_question == 0) {
        state_->check_errors();
        state_->wait_no_longer(begin);
      }
      if (looks > looks_before_a_yield) std::this_thread::yield();
    }
    slot_->take(to, bytes);
  }
  void release() noexcept override { delete this; }

 private:
  std::shared_ptr<nccl_state> state_;
  pending_handle slot_;
};

}  // namespace

void miss_call(nccl_state& state) noexcept { state.miss_call(); }
void check_nccl_call(nccl_state& state, int device, const char* call) {
  state.require(call);
  state.require_in_step(call);
  if (device != state.device) {
    throw invalid_argument(std::string(call) + " over NCCL's ranks: the object is on device " + std::to_string(device) +
                           ", and the communicator on device " + std::to_string(state.device) + "; make both on one");
  }
}
bool compares_calls(const nccl_state& state) noexcept { return state.compares_calls(); }
void compare_calls(nccl_state& state, const rank_call& call) { state.compare(call); }
int ranks_of(const nccl_state& state) noexcept { return state.size; }
bool exchanges(const nccl_state& state) noexcept { return state.size > 1 || state.options.exchanges_alone; }
std::uint64_t* failures_of(const nccl_state& state) noexcept { return state.failures_of_device; }

void nccl_gather(nccl_state& state, const void* own, void* all, std::size_t bytes, cudaStream_t stream) {
  state.finish(ncclAllGather(own, all, bytes, ncclUint8, state.comm, stream), "ncclAllGather");
}
void nccl_sum(nccl_state& state, const void* own, void* sum, std::size_t words, cudaStream_t stream) {
  state.finish(ncclAllReduce(own, sum, words, ncclUint64, ncclSum, state.comm, stream), "ncclAllReduce");
}

const nccl_peers& peers_of(const nccl_state& state) noexcept { return state.peers(); }
void come_behind_others(nccl_state& state, const cuda_handle& handle, cudaStream_t stream, bool is_capturing) {
  if (!is_capturing && state.peers().memory != nullptr) state.come_behind_others(handle, stream);
}

pending_handle watched(nccl_state& state, pending_handle slot) {
  return pending_handle(new watched_slot(state.shared_from_this(), std::move(slot)));
}

std::shared_ptr<nccl_state> share(nccl_state& state) { return state.shared_from_this(); }

void throw_failed_ranks_of_nccl(nccl_state& state, std::uint64_t failed, const char* call) {
  if ((failed & rank_did_not_come) != 0) state.throw_not_come();
  throw rank_error(std::string(call) +
                   " over NCCL's ranks: a rank has failed in its own part, and throws why; there is no result on any "
                   "rank");
}

namespace {

std::shared_ptr<nccl_state> make_state(const nccl_id& id, int rank, int size, const nccl_options& options) {
  if (size < 1 || rank < 0 || rank >= size) {
    throw invalid_argument("fanin::nccl: rank " + std::to_string(rank) + " of " + std::to_string(size) +
                           "; ranks count from 0");
  }
  ncclUniqueId unique;
  static_assert(sizeof(unique) == sizeof(id));
  std::memcpy(&unique, id.data(), sizeof(unique));
  return std::make_shared<nccl_state>(unique, rank, size, options);
}

}  // namespace

}  // namespace detail

nccl::nccl(ncclComm_t communicator, const nccl_options& options)
    : state_{std::make_shared<detail::nccl_state>(communicator, options)} {}
nccl::nccl(const nccl_id& id, int rank, int size, const nccl_options& options)
    : state_{detail::make_state(id, rank, size, options)} {}
nccl::~nccl() = default;

nccl_id nccl::make_id() {
  ncclUniqueId unique;
  detail::check_nccl(ncclGetUniqueId(&unique), "ncclGetUniqueId");
  nccl_id id;
  std::memcpy(id.data(), &unique, sizeof(unique));
  return id;
}

int nccl::rank() const noexcept { return state_->rank; }
int nccl::size() const noexcept { return state_->size; }
int nccl::device() const noexcept { return state_->device; }
ncclComm_t nccl::get() const noexcept { return state_->comm; }
const nccl_options& nccl::options() const noexcept { return state_->options; }
bool nccl::is_one_launch() const noexcept { return state_->peers().memory != nullptr; }

void nccl::check() const {
  state_->require("fanin::nccl::check");
  state_->check_errors();
  const std::uint64_t failed = state_->take_failures();
  if ((failed & detail::rank_did_not_come) != 0) state_->throw_not_come();
  if (failed != 0) {
    throw rank_error(
        "fanin::nccl::check: a rank had failed in its own part of an _into form, which has left its destination as it "
        "was");
  }
}

}  // namespace fanin
