// SPDX-License-Identifier: Apache-2.0
#include <fanin/nccl/nccl.hpp>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <fanin/nccl/exchange.hpp>

namespace fanin {

namespace detail {

namespace {

[[noreturn]] void throw_nccl(ncclResult_t code, const char* function, ncclComm_t comm) {
  const char* const last = ncclGetLastError(comm);
  throw nccl_error(std::string("fanin::nccl: ") + function + ": " + ncclGetErrorString(code) +
                       (last != nullptr && *last != '\0' ? std::string(" (") + last + ")" : std::string()),
                   static_cast<int>(code));
}
void check_nccl(ncclResult_t code, const char* function, ncclComm_t comm = nullptr) {
  if (code != ncclSuccess) throw_nccl(code, function, comm);
}
void check_cuda_of_nccl(cudaError_t code, const char* function) {
  if (code == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // it is thrown
  throw error(std::string("fanin::nccl: ") + function + ": " + cudaGetErrorString(code));
}

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
    if (std::chrono::steady_clock::now() - begin <= options.patience) return;
    give_up();
    throw nccl_error("fanin::nccl: after " + std::to_string(options.patience.count()) +
                         " ms the result of all ranks had not come; the communicator has been given up "
                         "(ncclCommAbort). A rank made another call, or none, or its device failed",
                     static_cast<int>(ncclSystemError));
  }
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
      void* memory = nullptr;
      check_cuda_of_nccl(cudaHostAlloc(&memory, sizeof(std::uint64_t), cudaHostAllocMapped), "cudaHostAlloc");
      std::memset(memory, 0, sizeof(std::uint64_t));
      failures_ = static_cast<std::uint64_t*>(memory);
      void* of_device = nullptr;
      check_cuda_of_nccl(cudaHostGetDevicePointer(&of_device, memory, 0), "cudaHostGetDevicePointer");
      failures_of_device = static_cast<std::uint64_t*>(of_device);
    } catch (...) {
      release();
      throw;
    }
  }
  void give_up() noexcept {
    if (!std::exchange(is_given_up_, true)) static_cast<void>(ncclCommAbort(comm));
  }
  void release() noexcept {
    // Behind results that nobody has got, and kernels that may write there.
    int current = device;
    static_cast<void>(cudaGetDevice(&current));
    if (current != device) static_cast<void>(cudaSetDevice(device));
    if (failures_ != nullptr) {
      static_cast<void>(cudaDeviceSynchronize());
      static_cast<void>(cudaFreeHost(failures_));
    }
    if (current != device) static_cast<void>(cudaSetDevice(current));
    if (owns_ && !is_given_up_) static_cast<void>(ncclCommDestroy(comm));
  }

  bool owns_ = false;
  bool is_given_up_ = false;
  std::uint64_t* failures_ = nullptr;
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

void check_nccl_call(nccl_state& state, int device, const char* call) {
  state.require(call);
  if (device != state.device) {
    throw invalid_argument(std::string(call) + " over NCCL's ranks: the object is on device " + std::to_string(device) +
                           ", and the communicator on device " + std::to_string(state.device) + "; make both on one");
  }
}
int ranks_of(const nccl_state& state) noexcept { return state.size; }
bool exchanges(const nccl_state& state) noexcept { return state.size > 1 || state.options.exchanges_alone; }
std::uint64_t* failures_of(const nccl_state& state) noexcept { return state.failures_of_device; }

void nccl_gather(nccl_state& state, const void* own, void* all, std::size_t bytes, cudaStream_t stream) {
  state.finish(ncclAllGather(own, all, bytes, ncclUint8, state.comm, stream), "ncclAllGather");
}
void nccl_sum(nccl_state& state, const void* own, void* sum, std::size_t words, cudaStream_t stream) {
  state.finish(ncclAllReduce(own, sum, words, ncclUint64, ncclSum, state.comm, stream), "ncclAllReduce");
}

pending_handle watched(nccl_state& state, pending_handle slot) {
  return pending_handle(new watched_slot(state.shared_from_this(), std::move(slot)));
}

void throw_failed_ranks_of_nccl(const char* call) {
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

void nccl::check() const {
  state_->require("fanin::nccl::check");
  state_->check_errors();
  if (state_->take_failures() != 0) {
    throw rank_error(
        "fanin::nccl::check: a rank had failed in its own part of an _into form, which has left its destination as it "
        "was");
  }
}

}  // namespace fanin
