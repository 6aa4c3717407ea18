// SPDX-License-Identifier: Apache-2.0
#include <fanin/cuda/cuda.hpp>

#include <utility>
#include <vector>

#include "state.hpp"

namespace fanin {

namespace detail {

cuda_state::cuda_state(int on_device, cudaStream_t on_stream, bool owns)
    : device{on_device}, stream{on_stream}, owns_stream{owns} {
  FANIN_DETAIL_CHECK_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
}

cuda_state::~cuda_state() {
  // A destructor has nowhere to report to; after a fault everything here fails, and there is nothing left to free.
  const last_error_scope last_error;
  int current = device;
  static_cast<void>(cudaGetDevice(&current));
  if (current != device) static_cast<void>(cudaSetDevice(device));
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode));
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(stream, &status) == cudaSuccess && status == cudaStreamCaptureStatusNone) {
    static_cast<void>(cudaStreamSynchronize(stream));
  }
  free_outgrown();
  static_cast<void>(cudaFree(plain_scratch.memory));
  static_cast<void>(cudaFree(tagged_scratch.memory));
  static_cast<void>(cudaFreeHost(mailbox.host));
  static_cast<void>(cudaFreeHost(partials.host));
  if (owns_stream) static_cast<void>(cudaStreamDestroy(stream));
  static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode));
  if (current != device) static_cast<void>(cudaSetDevice(current));
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
        "one scratch; give a stream that you made, or make a fanin::cuda() in each thread");
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
    return std::make_unique<cuda_state>(device, stream, true);
  } catch (...) {
    static_cast<void>(cudaStreamDestroy(stream));
    throw;
  }
}

}  // namespace

cuda& default_cuda() {
  // Destroyed with its thread; those of the main thread go before anything static, CUDA's own state included.
  static thread_local std::vector<std::unique_ptr<cuda>> objects;
  const auto device = static_cast<std::size_t>(current_device());
  if (device >= objects.size()) objects.resize(device + 1);
  if (!objects[device]) objects[device] = std::make_unique<cuda>();
  return *objects[device];
}

}  // namespace detail

cuda::cuda() : state_{detail::make_owning_state()} {}
cuda::cuda(cudaStream_t stream)
    : state_{std::make_unique<detail::cuda_state>(detail::device_of(stream), stream, false)} {}
cuda::cuda(cuda&&) noexcept = default;
cuda& cuda::operator=(cuda&&) noexcept = default;
cuda::~cuda() = default;

detail::cuda_handle cuda::handle() const {
  if (!state_) throw state_error("fanin::cuda: this object was moved from; use the one that it was moved to");
  return {state_.get(), {}};
}

cudaStream_t cuda::stream() const { return handle().state->stream; }
int cuda::device() const { return handle().state->device; }
void cuda::synchronize() const { detail::synchronize_stream(handle()); }
std::int64_t cuda::scratch_allocations() const { return handle().state->allocations.load(); }

std::size_t cuda::scratch_bytes() const {
  auto* const state = handle().state;
  const std::lock_guard lock(state->mutex);
  std::size_t bytes = 0;
  for (const detail::scratch_block* block : {&state->plain_scratch, &state->tagged_scratch}) {
    if (block->memory != nullptr) bytes += detail::scratch_block::header + block->partial_bytes;
  }
  return bytes;
}

cuda_launch cuda::last_launch() const {
  auto* const state = handle().state;
  const std::lock_guard lock(state->mutex);
  return state->last_launch;
}

}  // namespace fanin
