// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <exception>
#include <memory>
#include <string>

#include <fanin/cuda/cuda.hpp>

#include "state.hpp"

// Device memory of buffers: whose it is, where it is from, copies of it.
namespace fanin::detail {

namespace {

cudaPointerAttributes attributes_of(const void* pointer) {
  cudaPointerAttributes attributes{};
  const cudaError_t status = cudaPointerGetAttributes(&attributes, pointer);
  if (status == cudaSuccess) return attributes;
  static_cast<void>(cudaGetLastError());  // it is thrown
  throw_cuda_error(status, "cudaPointerGetAttributes(&attributes, pointer)", __FILE__, __LINE__);
}

}  // namespace

void cuda_calls::check_memory(const cuda_handle& handle, const void* pointer, const char* what) {
  const int device = handle.state->device;
  cudaPointerAttributes attributes = attributes_of(pointer);
  if (attributes.type == cudaMemoryTypeUnregistered) {
    const last_error_scope last_error;
    const device_scope of_object(device);
    if (made_context() != handle.state->context) refuse_lost_context(what);  // with which the memory was lost
    throw invalid_argument(std::string(what) +
                           ": the pointer is to host memory, which a device does not reach; use a "
                           "fanin::buffer, cudaMalloc or pinned memory");
  }
  if (attributes.type != cudaMemoryTypeDevice || attributes.device == device) return;
  const last_error_scope last_error;
  const device_scope scope(device);  // of which the address depends
  attributes = attributes_of(pointer);
  if (attributes.devicePointer == nullptr) {
    throw invalid_argument(std::string(what) + ": the pointer is to memory of another GPU, device " +
                           std::to_string(attributes.device) + ", which this object's device " +
                           std::to_string(device) +
                           " does not reach; enable peer access (cudaDeviceEnablePeerAccess), or use managed memory or "
                           "a fanin::buffer of this object");
  }
}

void* cuda_calls::allocate(const cuda_handle& handle, std::size_t bytes) {
  const last_error_scope last_error;
  const device_scope scope(handle.state->device);
  const cuda_state& state = *handle.state;
  if (made_context() != state.context) refuse_lost_context("fanin::buffer");
  if (state.resource == nullptr) return allocate_memory(nullptr, bytes, nullptr);
  if (capture_state_of(state.stream) == capture_state::none) {
    return allocate_memory(state.resource.get(), bytes, state.stream);
  }
  const relaxed_capture_scope relaxed;
  const cudaStream_t aside = service_stream();
  void* const memory = allocate_memory(state.resource.get(), bytes, aside);
  try {
    wait_for_stream(aside);
  } catch (...) {
    deallocate_memory(state.resource.get(), memory, bytes, aside);
    throw;
  }
  return memory;
}

cuda_memory cuda_calls::memory(const cuda_handle& handle) {
  const cuda_state& state = *handle.state;
  return {state.device, state.context, handle.state->weak_from_this(), state.resource};
}

void cuda_calls::deallocate(const cuda_memory& memory, void* pointer, std::size_t bytes) noexcept {
  const release_scope scope(memory.device);
  try {
    if (made_context() != memory.context) return;  // gone with it
    cudaStream_t stream = nullptr;
    const std::shared_ptr<cuda_state> state = memory.state.lock();  // whose stream lives as long as this does
    if (memory.resource != nullptr) {
      if (state == nullptr) {  // which waited for its work
        stream = service_stream();
      } else {
        stream = capture_state_of(state->stream) == capture_state::none ? state->stream : stream_after_everything();
      }
    }
    deallocate_memory(memory.resource.get(), pointer, bytes, stream);
    give_back_retired();
  } catch (const std::exception&) {
    // After a fault there is nothing to free.
  }
}

namespace {

void copy(const cuda_memory& memory, void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
          const char* call) {
  const std::shared_ptr<cuda_state> state = memory.state.lock();
  if (state == nullptr) {
    const last_error_scope last_error;
    const device_scope scope(memory.device);
    if (made_context() != memory.context) refuse_lost_context(call);
    const cuda own;
    return copy(cuda_calls::memory(own.handle()), to, from, bytes, kind, call);
  }
  const cuda_session session({state.get()}, nullptr, cuda_session::mode::blocking, call);
  copy_and_wait(to, from, bytes, kind, session.stream());
}

}  // namespace

void cuda_calls::copy_to_host(const cuda_memory& memory, void* to, const void* from, std::size_t bytes) {
  copy(memory, to, from, bytes, cudaMemcpyDeviceToHost, "fanin: copy to host");
}

void cuda_calls::copy_from_host(const cuda_memory& memory, void* to, const void* from, std::size_t bytes) {
  copy(memory, to, from, bytes, cudaMemcpyHostToDevice, "fanin: copy from host");
}

}  // namespace fanin::detail
