// SPDX-License-Identifier: Apache-2.0
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "simulator/kernel_call.hpp"
#include "simulator/machine.hpp"
#include "simulator/thread.hpp"

/// The CUDA runtime in front of the simulated device: one device of compute capability 9.0, whose addresses of mapped
/// memory are not the host's.

struct CUuserObject_st {
  cudaHostFn_t destroy;
  void* held;
  unsigned references;
  void release(unsigned some) {
    if ((references -= some) > 0) return;
    destroy(held);
    delete this;
  }
};

namespace {

using operation = std::function<void(simulator::stream*)>;

/// What a graph and its executables share.
struct recording {
  std::vector<operation> operations;
  std::vector<CUuserObject_st*> keeps;
  unsigned long long number = ++made;
  bool is_valid = true;  ///< nobody asked how far its stream is
  recording() = default;
  recording(const recording&) = delete;
  recording& operator=(const recording&) = delete;
  ~recording() {
    for (CUuserObject_st* const one : keeps) one->release(1);
  }

 private:
  static inline unsigned long long made = 0;
};

/// The last one that began so, while it goes on: a thread may ask no stream then, unless it says that it may.
std::weak_ptr<recording> captured_globally;
thread_local cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;

}  // namespace

struct CUgraph_st {
  std::shared_ptr<recording> of;
};
struct CUgraphExec_st {
  std::shared_ptr<recording> of;
};
struct CUstream_st {
  simulator::stream* queue = nullptr;
  std::shared_ptr<recording> captures;
  cudaGraphNode_t last = nullptr;
};
struct CUevent_st {
  cudaStream_t stream = nullptr;
};

namespace {

thread_local cudaError_t last_error = cudaSuccess;
unsigned early_launches = 0;

cudaError_t answer(cudaError_t status) {
  if (status != cudaSuccess && status != cudaErrorNotReady) last_error = status;
  return status;
}
cudaError_t of_device() { return answer(simulator::has_failed() ? cudaErrorLaunchFailure : cudaSuccess); }

std::map<const void*, simulator::kernel_binder>& known_kernels() {
  static std::map<const void*, simulator::kernel_binder> all;
  return all;
}

/// Now, or when the graph runs.
cudaError_t enqueue(cudaStream_t stream, operation what) {
  if (stream->captures != nullptr) {
    stream->captures->operations.push_back(std::move(what));
  } else {
    what(stream->queue);
  }
  return of_device();
}

CUresult context_id(CUcontext, unsigned long long* id) {
  *id = simulator::counted().schedules;  // what an earlier device had is gone
  return CUDA_SUCCESS;
}
/// A device that goes takes no stream of the application's along.
std::set<cudaStream_t>& known_streams() {
  static auto* const all = new std::set<cudaStream_t>;
  return *all;
}
bool is_gone(cudaStream_t stream) { return !known_streams().contains(stream); }

CUresult is_capturing(CUstream stream, CUstreamCaptureStatus* status) {
  if (is_gone(stream)) return CUDA_ERROR_INVALID_HANDLE;
  *status = stream->captures == nullptr ? CU_STREAM_CAPTURE_STATUS_NONE : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}

constexpr int shared_bytes_of_multiprocessor = 228 * 1024;
constexpr int reserved_bytes_of_block = 1024;
constexpr int shared_bytes_of_block = shared_bytes_of_multiprocessor - reserved_bytes_of_block;
constexpr std::size_t shared_bytes_without_asking = 48 * 1024;

/// What cudaFuncSetAttribute allowed a kernel to ask for at launch.
std::map<const void*, int>& allowed_bytes() {
  static std::map<const void*, int> all;
  return all;
}

bool host_waits = false;

}  // namespace

void simulator::work_while_host_waits() {
  host_waits = true;
  host_pauses();
  host_waits = false;
}
bool simulator::works_while_host_waits() { return host_waits; }

void simulator::know_kernel(const void* kernel, kernel_binder binder) { known_kernels()[kernel] = binder; }

const char* cudaGetErrorName(cudaError_t code) {
  switch (code) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorNotReady: return "cudaErrorNotReady";
    case cudaErrorStreamCaptureUnsupported: return "cudaErrorStreamCaptureUnsupported";
    case cudaErrorNoDevice: return "cudaErrorNoDevice";
    case cudaErrorInsufficientDriver: return "cudaErrorInsufficientDriver";
    case cudaErrorLaunchFailure: return "cudaErrorLaunchFailure";
    default: return "cudaErrorInvalidValue";
  }
}
const char* cudaGetErrorString(cudaError_t code) {
  static std::string text;
  text = code == cudaErrorLaunchFailure ? "simulated: " + simulator::last_fault() : "simulated";
  return text.c_str();
}
cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return last_error; }

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  simulator::finish_all();
  return of_device();
}
cudaError_t cudaSetDevice(int device) { return answer(device == 0 ? cudaSuccess : cudaErrorInvalidValue); }
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor: *value = 9; break;
    case cudaDevAttrComputeCapabilityMinor: *value = 0; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = shared_bytes_of_block; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = shared_bytes_of_multiprocessor; break;
    case cudaDevAttrReservedSharedMemoryPerBlock: *value = reserved_bytes_of_block; break;
    case cudaDevAttrMultiProcessorCount: *value = simulator::multiprocessors(); break;
  }
  return cudaSuccess;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** found, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  *found = name == std::string("cuCtxGetId")            ? reinterpret_cast<void*>(&context_id)
           : name == std::string("cuStreamIsCapturing") ? reinterpret_cast<void*>(&is_capturing)
                                                        : nullptr;
  *result = *found == nullptr ? cudaDriverEntryPointSymbolNotFound : cudaDriverEntryPointSuccess;
  return cudaSuccess;
}

unsigned simulator::launches_that_start_early() { return early_launches; }

// --- Memory

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  *memory = simulator::allocate(bytes);
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  if (memory == nullptr) return of_device();
  simulator::finish_all();
  return simulator::deallocate(memory) ? of_device() : answer(cudaErrorInvalidValue);
}
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  void* of_device = nullptr;
  *memory = simulator::allocate_mapped(bytes, of_device);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) {
  if (memory == nullptr) return cudaSuccess;
  simulator::finish_all();
  return simulator::deallocate_mapped(memory) ? of_device() : answer(cudaErrorInvalidValue);
}
cudaError_t cudaHostGetDevicePointer(void** of_device, void* of_host, unsigned) {
  *of_device = simulator::mapped_address(of_host);
  return answer(*of_device == nullptr ? cudaErrorInvalidValue : cudaSuccess);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  return enqueue(stream, [=](simulator::stream* on) { simulator::enqueue(on, [=] { std::memcpy(to, from, bytes); }); });
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  return enqueue(stream,
                 [=](simulator::stream* on) { simulator::enqueue(on, [=] { std::memset(to, value, bytes); }); });
}
/// By whichever thread the device works in: the host's, while it looks or waits.
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t call, void* with) {
  return enqueue(stream, [=](simulator::stream* on) { simulator::enqueue(on, [=] { call(with); }); });
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  *attributes = {cudaMemoryTypeDevice, 0, const_cast<void*>(pointer)};  // the device reaches all memory
  return cudaSuccess;
}

// --- Streams

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = *known_streams().insert(new CUstream_st{simulator::make_stream(), nullptr, nullptr}).first;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  simulator::destroy(stream->queue);
  known_streams().erase(stream);
  delete stream;
  return of_device();
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  simulator::finish(stream->queue);
  return of_device();
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  if (is_gone(stream)) return answer(cudaErrorInvalidValue);
  if (stream->captures != nullptr) {
    stream->captures->is_valid = false;
    return answer(cudaErrorInvalidValue);
  }
  if (const auto others = captured_globally.lock(); others != nullptr && capture_mode != cudaStreamCaptureModeRelaxed) {
    others->is_valid = false;
    return answer(cudaErrorStreamCaptureUnsupported);
  }
  const bool done = simulator::is_finished(stream->queue);
  if (simulator::has_failed()) return of_device();
  return done ? cudaSuccess : answer(cudaErrorNotReady);
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st{};
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (is_gone(stream) || stream->captures != nullptr) return answer(cudaErrorInvalidValue);
  event->stream = stream;
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (is_gone(stream) || stream->captures != nullptr) return answer(cudaErrorInvalidValue);
  return event->stream == nullptr || is_gone(event->stream) ? cudaSuccess : cudaStreamSynchronize(event->stream);
}
cudaError_t cudaStreamGetDevice(cudaStream_t, int* device) { return cudaGetDevice(device); }
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  if (is_gone(stream)) return answer(cudaErrorInvalidValue);
  *status = stream->captures == nullptr ? cudaStreamCaptureStatusNone : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(*mode, capture_mode);
  return cudaSuccess;
}

// --- Graphs

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  stream->captures = std::make_shared<recording>();
  if (mode == cudaStreamCaptureModeGlobal) captured_globally = stream->captures;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const auto captured = std::exchange(stream->captures, nullptr);
  if (captured == captured_globally.lock()) captured_globally.reset();
  *graph = captured->is_valid ? new CUgraph_st{captured} : nullptr;
  return answer(captured->is_valid ? cudaSuccess : cudaErrorInvalidValue);
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* capture,
                                     cudaGraph_t* graph, const cudaGraphNode_t** before, const cudaGraphEdgeData**,
                                     std::size_t* count) {
  // The graph under capture goes by its stream's address, a node by its number from 1.
  if (graph != nullptr) *graph = reinterpret_cast<cudaGraph_t>(stream);
  if (stream->captures != nullptr && before != nullptr) {
    *capture = stream->captures->number;
    stream->last = reinterpret_cast<cudaGraphNode_t>(stream->captures->operations.size());
    *before = &stream->last;
    *count = stream->last == nullptr ? 0 : 1;
  }
  return cudaStreamIsCapturing(stream, status);
}
cudaError_t cudaUserObjectCreate(cudaUserObject_t* made, void* held, cudaHostFn_t destroy, unsigned references,
                                 unsigned) {
  *made = new CUuserObject_st{destroy, held, references};
  return cudaSuccess;
}
cudaError_t cudaUserObjectRelease(cudaUserObject_t one, unsigned references) {
  one->release(references);
  return cudaSuccess;
}
cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t one, unsigned, unsigned) {
  reinterpret_cast<cudaStream_t>(graph)->captures->keeps.push_back(one);
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  *executable = new CUgraphExec_st{graph->of};
  return cudaSuccess;
}
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph, cudaGraphExecUpdateResultInfo*) {
  if (executable->of->operations.size() != graph->of->operations.size()) return answer(cudaErrorInvalidValue);
  simulator::finish_all();  // what it kept goes when its launches have ended
  executable->of = graph->of;
  return of_device();
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  for (const operation& one : executable->of->operations) one(stream->queue);
  return of_device();
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  simulator::finish_all();
  delete executable;
  return of_device();
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return of_device();
}

// --- Launches

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  *attributes = {0, 1024, 90, 90};
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute, int bytes) {
  allowed_bytes()[kernel] = bytes;
  return answer(bytes <= shared_bytes_of_block ? cudaSuccess : cudaErrorInvalidValue);
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int threads, std::size_t bytes) {
  const int by_bytes = shared_bytes_of_multiprocessor / (static_cast<int>(bytes) + reserved_bytes_of_block);
  *blocks = std::min(threads > 512 ? 1 : 2, by_bytes);
  return cudaSuccess;
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel, void** arguments) {
  simulator::launch what;
  what.blocks = config->gridDim.x;
  what.threads = config->blockDim.x;
  what.dynamic_bytes = config->dynamicSmemBytes;
  for (unsigned k = 0; k < config->numAttrs; ++k) {
    const cudaLaunchAttribute& attribute = config->attrs[k];
    if (attribute.id == cudaLaunchAttributeClusterDimension) what.blocks_of_cluster = attribute.val.clusterDim.x;
    if (attribute.id == cudaLaunchAttributeProgrammaticStreamSerialization) what.starts_early = true;
  }
  if (what.starts_early) ++early_launches;
  const auto known = known_kernels().find(kernel);
  if (known == known_kernels().end() || what.blocks == 0 || what.threads == 0 || what.threads > 1024 ||
      what.threads % 32 != 0 || what.blocks % what.blocks_of_cluster != 0 ||
      (what.dynamic_bytes > shared_bytes_without_asking &&
       what.dynamic_bytes > static_cast<std::size_t>(allowed_bytes()[kernel]))) {
    return answer(cudaErrorInvalidValue);
  }
  what.thread = known->second(kernel, arguments);
  return enqueue(config->stream, [what](simulator::stream* on) { simulator::enqueue(on, what); });
}
