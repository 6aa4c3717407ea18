// SPDX-License-Identifier: Apache-2.0
#include <fanin/cuda/cuda.hpp>

#include <latch>
#include <memory>
#include <utility>
#include <vector>

#include "mailboxes.hpp"
#include "state.hpp"

namespace fanin {

namespace detail {

cuda_state::cuda_state(int on_device, cudaStream_t on_stream, bool owns, std::shared_ptr<cuda_resource> from)
    : device{on_device},
      stream{on_stream},
      owns_stream{owns},
      resource{std::move(from)},
      context{made_context()},
      mailboxes{std::make_shared<mailbox_pool>(device, stream, context)},
      rooms{std::make_shared<shared_rooms<pinned_memory>>(pinned_memory{device, context})} {
  FANIN_DETAIL_CHECK_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  FANIN_DETAIL_CHECK_CUDA(
      cudaDeviceGetAttribute(&shared_bytes_of_block, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
}

cuda_state::~cuda_state() {
  // After a fault everything here fails, and there is nothing left to free.
  const release_scope scope(device);
  release();
}

namespace {

int current_device() {
  int device = 0;
  FANIN_DETAIL_CHECK_CUDA(cudaGetDevice(&device));
  return device;
}

int device_of(cudaStream_t stream) {
  if (stream == cudaStreamPerThread) {
    throw invalid_argument(
        "fanin::cuda(stream): cudaStreamPerThread is another stream in every thread, and an object has one stream and "
        "one workspace; give a stream that you made, or make a fanin::cuda() in each thread");
  }
#if CUDART_VERSION >= 12080
  // Of a stream that captures CUDA answers nothing more: it is taken to be the current device's.
  if (stream != nullptr && stream != cudaStreamLegacy && capture_state_of(stream) == capture_state::none) {
    int device = 0;
    FANIN_DETAIL_CHECK_CUDA(cudaStreamGetDevice(stream, &device));
    return device;
  }
#else
  static_cast<void>(stream);
#endif
  return current_device();
}

std::unique_ptr<cuda_state> make_owning_state() {
  const last_error_scope last_error;
  const relaxed_capture_scope relaxed;
  const int device = current_device();
  cudaStream_t stream = nullptr;
  FANIN_DETAIL_CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  try {
    return std::make_unique<cuda_state>(device, stream, true, nullptr);
  } catch (...) {
    static_cast<void>(cudaStreamDestroy(stream));
    throw;
  }
}

std::unique_ptr<cuda_state> make_borrowing_state(cudaStream_t stream, std::shared_ptr<cuda_resource> resource) {
  const last_error_scope last_error;
  const int device = device_of(stream);
  const device_scope scope(device);
  if (resource != nullptr) {  // whose memory may have to go back to it when nothing can be made any more
    const relaxed_capture_scope relaxed;
    static_cast<void>(service_stream());
  }
  return std::make_unique<cuda_state>(device, stream, false, std::move(resource));
}

}  // namespace

cuda& default_cuda() {
  // Destroyed with its thread; those of the main thread go before anything static, CUDA's own state included. Each is
  // of one context: after a cudaDeviceReset its device has another one.
  static thread_local std::vector<std::unique_ptr<cuda>> objects;
  const std::uint64_t context = made_context();
  for (const auto& object : objects) {
    if (object->handle().state->context == context) return *object;
  }
  return *objects.emplace_back(std::make_unique<cuda>());
}

}  // namespace detail

cuda::cuda() : state_{detail::make_owning_state()} {}
cuda::cuda(cudaStream_t stream) : state_{detail::make_borrowing_state(stream, nullptr)} {}
cuda::cuda(cudaStream_t stream, std::shared_ptr<detail::cuda_resource> resource)
    : state_{detail::make_borrowing_state(stream, std::move(resource))} {}
cuda::cuda(cuda&&) noexcept = default;
cuda& cuda::operator=(cuda&& other) noexcept {
  cuda taken(std::move(other));
  std::swap(state_, taken.state_);
  return *this;
}
cuda::~cuda() {
  if (state_ == nullptr) return;
  // Another thread may copy or free a buffer of this object's just now, for which it needs the object's stream; then it
  // is that one which ends the state.
  const std::shared_ptr<std::latch> end = state_->end.seen;
  state_.reset();
  end->wait();
}

detail::cuda_handle cuda::handle() const {
  if (!state_) throw state_error("fanin::cuda: this object was moved from; use the one that it was moved to");
  return {state_.get(), {}};
}

cudaStream_t cuda::stream() const { return handle().state->stream; }
int cuda::device() const { return handle().state->device; }
void cuda::synchronize() const { detail::cuda_calls::synchronize(handle()); }
std::int64_t cuda::workspace_allocations() const { return handle().state->allocations.load(); }

std::size_t cuda::workspace_bytes() const {
  auto* const state = handle().state;
  const std::lock_guard lock(state->mutex);
  return state->plain_workspace.bytes() + state->tagged_workspace.bytes() + state->ranks_workspace.bytes();
}

cuda_launch cuda::last_launch() const {
  auto* const state = handle().state;
  const std::lock_guard lock(state->mutex);
  return state->last_launch;
}

}  // namespace fanin
