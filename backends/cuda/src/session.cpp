// SPDX-License-Identifier: Apache-2.0
#include <nvtx3/nvToolsExt.h>

#include <cstring>
#include <string>

#include <fanin/cuda/cuda.hpp>

#include "mailboxes.hpp"
#include "state.hpp"

namespace fanin::detail {

namespace {

/// What CUDA reports of a kernel that ran, at whichever call comes next.
bool is_of_a_kernel(cudaError_t code) {
  switch (code) {
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorIllegalInstruction:
    case cudaErrorHardwareStackError:
    case cudaErrorAssert:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout: return true;
    default: return false;
  }
}

/// What to do about an error that stands at the beginning of all use.
const char* advice_for(cudaError_t code) {
  if (is_of_a_kernel(code)) {
    return "; a kernel failed, of this call or of any work before it on the device: CUDA tells whoever calls next";
  }
  switch (code) {
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
      return "; here is no GPU with a driver for this CUDA runtime (see nvidia-smi): use another backend, such as "
             "fanin::serial";
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
      return "; the program has no code for this GPU: give its compute capability to CMAKE_CUDA_ARCHITECTURES, where "
             "Fanin and where the program is built";
    default: return "";
  }
}

template <class Function>
void find_in_driver(Function*& function, const char* name) {
  const last_error_scope last_error;
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  FANIN_DETAIL_CHECK_CUDA(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableLegacyStream, &result));
#else
  FANIN_DETAIL_CHECK_CUDA(cudaGetDriverEntryPoint(name, &found, cudaEnableLegacyStream, &result));
#endif
  if (found == nullptr) throw error(std::string("fanin: this driver has no ") + name + ", which came with CUDA 12.0");
  function = reinterpret_cast<Function*>(found);
}

[[noreturn]] void refuse_capture(const char* call) {
  throw state_error(std::string(call) +
                    ": the host waits for this call's work, and its stream is being captured into a graph; "
                    "use the _into form, or call it outside the capture");
}

[[noreturn]] void refuse_legacy_stream(const char* call) {
  throw state_error(
      std::string(call) +
      ": this object is on the legacy default stream, on which CUDA forbids work while a stream that waits "
      "for it is being captured into a graph; give the object a stream of its own, or capture on one made "
      "with cudaStreamNonBlocking");
}

}  // namespace

void throw_cuda_error(cudaError_t code, const char* call, const char* file, int line) {
  const std::string path = file;
  throw cuda_error(code, std::string("fanin: ") + cudaGetErrorName(code) + " (" + cudaGetErrorString(code) + ") from " +
                             call + " at " + path.substr(path.rfind('/') + 1) + ":" + std::to_string(line) +
                             advice_for(code));
}

cuda_driver cuda_driver::find() {
  cuda_driver found;
  find_in_driver(found.context_id, "cuCtxGetId");
  find_in_driver(found.is_capturing, "cuStreamIsCapturing");
  return found;
}

device_scope::device_scope(int device) {
  int current = 0;
  FANIN_DETAIL_CHECK_CUDA(cudaGetDevice(&current));
  if (current != device) {
    FANIN_DETAIL_CHECK_CUDA(cudaSetDevice(device));
    previous_ = current;
  }
}
device_scope::~device_scope() {
  if (previous_ >= 0) static_cast<void>(cudaSetDevice(previous_));
}

relaxed_capture_scope::relaxed_capture_scope() { FANIN_DETAIL_CHECK_CUDA(cudaThreadExchangeStreamCaptureMode(&mode_)); }
relaxed_capture_scope::~relaxed_capture_scope() { static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode_)); }

release_scope::release_scope(int device) noexcept : device_{device}, previous_{device} {
  static_cast<void>(cudaGetDevice(&previous_));
  if (previous_ != device_) static_cast<void>(cudaSetDevice(device_));
  static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode_));
}
release_scope::~release_scope() {
  static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode_));
  if (previous_ != device_) static_cast<void>(cudaSetDevice(previous_));
}

void wait_for_stream(cudaStream_t stream) {
  const last_error_scope last_error;
  const relaxed_capture_scope relaxed;
  FANIN_DETAIL_CHECK_CUDA(cudaStreamSynchronize(stream));
}

void refuse_lost_context(const char* call) {
  throw state_error(std::string(call) +
                    ": this object was made in another CUDA context than its device's current one; after a "
                    "cudaDeviceReset make a new object, and buffers anew");
}

void copy_and_wait(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  const last_error_scope last_error;
  const relaxed_capture_scope relaxed;
  FANIN_DETAIL_CHECK_CUDA(cudaMemcpyAsync(to, from, bytes, kind, stream));
  wait_for_stream(stream);
}

bool is_at_rest(cudaStream_t stream) {
  const last_error_scope last_error;
  const relaxed_capture_scope relaxed;
  const cudaError_t status = cudaStreamQuery(stream);
  if (status == cudaErrorNotReady) return false;
  check_cuda(status, "cudaStreamQuery(stream)", __FILE__, __LINE__);
  return true;
}

bool is_known_at_rest(cudaStream_t stream) {
  if (capture_state_of(stream) == capture_state::none) return is_at_rest(stream);
  const last_error_scope last_error;
  const relaxed_capture_scope relaxed;
  static_cast<void>(is_at_rest(service_stream()));
  return false;
}

std::uint64_t current_context() {
  unsigned long long id = 0;
  return cuda_driver::instance().context_id(nullptr, &id) == CUDA_SUCCESS ? id : 0;
}

std::uint64_t made_context() {
  if (const std::uint64_t context = current_context()) return context;
  const last_error_scope last_error;
  const relaxed_capture_scope relaxed;
  FANIN_DETAIL_CHECK_CUDA(cudaFree(nullptr));
  if (const std::uint64_t context = current_context()) return context;
  throw error("fanin::cuda: CUDA names no current context (cuCtxGetId)");
}

namespace {

/// The runtime makes a context where there is none, and has a name for what failed.
capture_state capture_state_by_runtime(cudaStream_t stream) {
  const last_error_scope last_error;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  FANIN_DETAIL_CHECK_CUDA(cudaStreamIsCapturing(stream, &status));
  return status == cudaStreamCaptureStatusNone ? capture_state::none : capture_state::capturing;
}

}  // namespace

capture_state capture_state_of(cudaStream_t stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult answer = cuda_driver::instance().is_capturing(stream, &status);
  if (answer == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return capture_state::of_another;
  if (answer != CUDA_SUCCESS) return capture_state_by_runtime(stream);
  return status == CU_STREAM_CAPTURE_STATUS_NONE ? capture_state::none : capture_state::capturing;
}

cuda_session::cuda_session(const cuda_handle& handle, const char* label, mode how, const char* call)
    : state_{handle.state}, plans_{handle.state->plans.data()}, lock_{handle.state->mutex} {
  try {
    // Before anything touches the stream, which is no more if the context is another one.
    if (current_context() != state_->context) go_to_device(call);
    const capture_state capture = capture_state_of(state_->stream);
    if (capture == capture_state::of_another) refuse_legacy_stream(call);
    capturing_ = capture == capture_state::capturing;
    if (capturing_ && how == mode::blocking) refuse_capture(call);
  } catch (...) {
    if (previous_device_ >= 0) static_cast<void>(cudaSetDevice(previous_device_));
    throw;
  }
  if (label != nullptr) {
    nvtxRangePushA(label);
    labelled_ = true;
  }
}

void cuda_session::go_to_device(const char* call) {
  const last_error_scope last_error;
  int current = 0;
  FANIN_DETAIL_CHECK_CUDA(cudaGetDevice(&current));
  if (current != state_->device) {
    FANIN_DETAIL_CHECK_CUDA(cudaSetDevice(state_->device));
    previous_device_ = current;
  }
  if (made_context() != state_->context) refuse_lost_context(call);
}

cuda_session::~cuda_session() {
  if (labelled_) nvtxRangePop();
  if (previous_device_ >= 0) static_cast<void>(cudaSetDevice(previous_device_));
}

cudaStream_t cuda_session::stream() const noexcept { return state_->stream; }
int cuda_session::device() const noexcept { return state_->device; }
std::uint64_t cuda_session::context() const noexcept { return state_->context; }
int cuda_session::multiprocessors() const noexcept { return state_->multiprocessors; }
int cuda_session::shared_bytes_of_block() const noexcept { return state_->shared_bytes_of_block; }

static workspace_block& own_block(cuda_state& state, cuda_session::partials kind) {
  if (kind == cuda_session::partials::of_ranks) return state.ranks_workspace;
  return kind == cuda_session::partials::tagged ? state.tagged_workspace : state.plain_workspace;
}

workspace_memory cuda_session::workspace(partials kind, std::size_t bytes) {
  if (capturing_) return state_->captured_workspace(bytes);
  return state_->own_workspace(own_block(*state_, kind), bytes);
}

void cuda_session::leave_workspace(partials kind) {
  if (capturing_) return;
  workspace_block& block = own_block(*state_, kind);
  if (block.memory != nullptr) state_->outgrown.push_back(block);
  block = {};
}

cuda_mailbox cuda_session::mailbox(int words) {
  pinned_block& block = state_->mailbox;
  const std::size_t bytes = static_cast<std::size_t>(words) * sizeof(std::uint64_t);
  if (block.bytes < bytes) state_->reserve(block, bytes);
  if (++state_->sequence == 0) {  // after 2^32 calls: no word of an earlier round may pass for one of this
    std::memset(block.host, 0, block.bytes);
    state_->sequence = 1;
  }
  return {static_cast<std::uint64_t*>(block.device), state_->sequence};
}

void cuda_session::wait(const cuda_mailbox& mailbox, void* payload, int words) {
  wait_for_words(static_cast<const std::uint64_t*>(state_->mailbox.host), words, mailbox.sequence, payload,
                 static_cast<std::size_t>(words) * sizeof(std::uint32_t),
                 [&] { return is_known_at_rest(state_->stream); });
}

cuda_pending cuda_session::pending_mailbox(int words) { return state_->mailboxes->take(*state_, words); }

const void* cuda_session::fetch(const void* from, std::size_t bytes) {
  state_->reserve(state_->partials, bytes);
  void* const to = state_->partials.host;
  copy_and_wait(to, from, bytes, cudaMemcpyDeviceToHost, state_->stream);
  return to;
}

bool cuda_session::starts_early(const cuda_launch_options& options) const {
  if (!options.can_start_early || options.early_start == cuda_early_start::off) return false;
  if (options.early_start == cuda_early_start::on || !capturing_) return true;
  return state_->early_node.node != nullptr && state_->early_node == node_before(state_->stream);
}

void cuda_session::launch(const void* kernel, const cuda_launch& launch, void** arguments,
                          const cuda_launch_options& options) {
  cudaLaunchAttribute attributes[2];
  unsigned count = 0;
  if (starts_early(options)) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count++].val.programmaticStreamSerializationAllowed = 1;
  }
  if (options.cluster_size > 1) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count++].val.clusterDim = {static_cast<unsigned>(options.cluster_size), 1, 1};
  }
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(launch.grid_size));
  config.blockDim = dim3(static_cast<unsigned>(launch.block_size));
  config.dynamicSmemBytes = launch.shared_bytes;
  config.stream = state_->stream;
  config.attrs = attributes;
  config.numAttrs = count;
  const cudaError_t launched = cudaLaunchKernelExC(&config, kernel, arguments);
  if (launched == cudaSuccess) {
    if (capturing_) state_->early_node = options.can_start_early ? node_before(state_->stream) : captured_node{};
    return;
  }
  static_cast<void>(cudaGetLastError());  // it is thrown
  throw_cuda_error(launched, "cudaLaunchKernelExC(&config, kernel, arguments)", __FILE__, __LINE__);
}

void cuda_session::record(const cuda_launch& launch) { state_->last_launch = launch; }

void cuda_calls::synchronize(const cuda_handle& handle) {
  const cuda_session session(handle, nullptr, cuda_session::mode::blocking, "fanin::cuda::synchronize");
  wait_for_stream(session.stream());
  const last_error_scope last_error;
  const relaxed_capture_scope relaxed;
  give_back_retired();
}

bool cuda_calls::is_capturing(const cuda_handle& handle, const char* call) {
  return cuda_session(handle, nullptr, cuda_session::mode::ordered, call).is_capturing();
}

cuda_pending cuda_calls::place_for(const cuda_handle& handle, int words, const char* call) {
  return cuda_session(handle, nullptr, cuda_session::mode::blocking, call).pending_mailbox(words);
}

void cuda_calls::run_aside(const cuda_memory& memory, const void* kernel, int grid_size, int block_size,
                           void** arguments, const char* call) {
  const last_error_scope last_error;
  const device_scope of_memory(memory.device);
  if (made_context() != memory.context) refuse_lost_context(call);
  const relaxed_capture_scope relaxed;
  const cudaStream_t aside = service_stream();
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(grid_size));
  config.blockDim = dim3(static_cast<unsigned>(block_size));
  config.stream = aside;
  FANIN_DETAIL_CHECK_CUDA(cudaLaunchKernelExC(&config, kernel, arguments));
  wait_for_stream(aside);
}

void cuda_calls::check_context(const cuda_memory& memory, const char* call) {
  const last_error_scope last_error;
  const device_scope of_memory(memory.device);
  if (made_context() != memory.context) refuse_lost_context(call);
}

std::shared_ptr<void> cuda_calls::shared_room(const cuda_handle& handle, std::size_t bytes) {
  const cuda_session session(handle, nullptr, cuda_session::mode::ordered, "fanin::parallel_reduce_into");
  return handle.state->rooms->take(bytes);
}

}  // namespace fanin::detail
