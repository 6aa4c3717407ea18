// SPDX-License-Identifier: Apache-2.0
#include "support/failing_runtime.hpp"

#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "cuda/fault_device.hpp"

namespace fanin_test {
namespace {

std::atomic<std::int64_t> held{0};

struct {
  bool counts = false;
  std::int64_t left = 0;
  std::int64_t so_many = 1;
  std::int64_t more = 0;
  const char* failed = nullptr;
  const char* named = nullptr;
  cudaError_t code = cudaSuccess;
  int capability = 0;
  const char* lacks = nullptr;
} plan;

constexpr std::size_t most_notes = 100;
struct {
  bool are_taken = false;
  std::size_t count = 0;
  const char* names[most_notes] = {};
} notes;

thread_local cudaError_t last_error = cudaSuccess;
thread_local bool is_inside = false;  // the runtime, which calls itself and allocates, or the application

void note(const char* name) {
  if (!is_inside && notes.are_taken && notes.count < most_notes) notes.names[notes.count++] = name;
}

/// Whether this one fails.
bool takes(const char* name, bool is_call) {
  if (is_inside || is_fault_device()) return false;
  note(name);
  if (plan.named != nullptr && std::strcmp(plan.named, name) == 0) return true;
  if (!plan.counts) return false;
  if (plan.failed != nullptr) return is_call && plan.more-- > 0;
  if (--plan.left != 0) return false;
  plan.failed = name;
  plan.more = plan.so_many - 1;
  return true;
}

enum class kind { ordinary, makes, gives_up, waits };

template <class Real>
cudaError_t pass(const char* name, cudaError_t otherwise, kind of, std::int64_t count, const Real& real) {
  const bool fails = takes(name, true);
  if (fails && plan.named != nullptr) otherwise = plan.code;
  cudaError_t status = otherwise;
  if (!fails || of == kind::gives_up || of == kind::waits) {
    const not_counted inside;
    status = real();
    if (status == cudaSuccess && of == kind::makes) held += count;
    if (status == cudaSuccess && of == kind::gives_up) held -= count;
  }
  if (!fails) return status;
  return last_error = otherwise;
}

CUresult (*real_context_id)(CUcontext, unsigned long long*) = nullptr;
CUresult (*real_is_capturing)(CUstream, CUstreamCaptureStatus*) = nullptr;
CUresult context_id(CUcontext context, unsigned long long* id) {
  return takes("cuCtxGetId", true) ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : real_context_id(context, id);
}
/// Not CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, which is an answer.
CUresult is_capturing(CUstream stream, CUstreamCaptureStatus* status) {
  return takes("cuStreamIsCapturing", true) ? static_cast<CUresult>(999) : real_is_capturing(stream, status);
}

template <class Function>
void put_before(void** found, Function*& real, Function* mine) {
  real = reinterpret_cast<Function*>(*found);
  *found = reinterpret_cast<void*>(mine);
}

void* allocate(std::size_t bytes) {
  void* const memory = takes("operator new", false) ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

failing_runtime::failing_runtime(std::int64_t kth, std::int64_t so_many) {
  plan = {};
  plan.left = kth;
  plan.so_many = so_many;
  plan.counts = true;
}
failing_runtime::~failing_runtime() { plan = {}; }
bool failing_runtime::has_failed() const { return plan.failed != nullptr; }
bool failing_runtime::fails_once() const { return plan.so_many == 1; }
std::string failing_runtime::failed() const {
  const char* const name = plan.failed;
  return name == nullptr ? "" : name;
}

noted_calls::noted_calls() { notes = {.are_taken = true}; }
noted_calls::~noted_calls() { notes = {}; }
std::string noted_calls::text() const {
  const not_counted by_fanin;
  std::string names;
  for (std::size_t k = 0; k < notes.count; ++k) names.append(k > 0 ? " " : "").append(notes.names[k]);
  return names;
}

not_counted::not_counted() : before_{std::exchange(is_inside, true)} {}
not_counted::~not_counted() { is_inside = before_; }

failing_call::failing_call(const char* name, cudaError_t code) {
  plan = {};
  plan.named = name;
  plan.code = code;
}
failing_call::~failing_call() { plan = {}; }

pretended_capability::pretended_capability(int major) { plan.capability = major; }
pretended_capability::~pretended_capability() { plan = {}; }
old_driver::old_driver(const char* lacks) { plan.lacks = lacks; }
old_driver::~old_driver() { plan = {}; }

std::int64_t held_of_runtime() { return held; }
void forget_held_of_runtime() { held = 0; }

}  // namespace fanin_test

void* operator new(std::size_t bytes) { return fanin_test::allocate(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names (--wrap)
#define FANIN_TEST_RUNTIME_CALL(name, otherwise, of, count, parameters, ...)                                \
  extern "C" cudaError_t __real_##name parameters;                                                          \
  extern "C" cudaError_t __wrap_##name parameters;                                                          \
  extern "C" cudaError_t __wrap_##name parameters {                                                         \
    using fanin_test::kind;                                                                                 \
    return fanin_test::pass(#name, otherwise, kind::of, count, [&] { return __real_##name(__VA_ARGS__); }); \
  }
#define FANIN_TEST_FAILS(name, parameters, ...) \
  FANIN_TEST_RUNTIME_CALL(name, cudaErrorInvalidValue, ordinary, 0, parameters, __VA_ARGS__)

FANIN_TEST_FAILS(cudaGetDevice, (int* device), device)
FANIN_TEST_FAILS(cudaSetDevice, (int device), device)
FANIN_TEST_FAILS(cudaHostGetDevicePointer, (void** of_device, void* of_host, unsigned flags), of_device, of_host, flags)
FANIN_TEST_FAILS(cudaMemcpyAsync,
                 (void* to, const void* from, std::size_t bytes, cudaMemcpyKind how, cudaStream_t stream), to, from,
                 bytes, how, stream)
FANIN_TEST_FAILS(cudaMemsetAsync, (void* to, int value, std::size_t bytes, cudaStream_t stream), to, value, bytes,
                 stream)
FANIN_TEST_FAILS(cudaPointerGetAttributes, (cudaPointerAttributes * found, const void* of), found, of)
FANIN_TEST_FAILS(cudaStreamQuery, (cudaStream_t stream), stream)
FANIN_TEST_FAILS(cudaStreamGetDevice, (cudaStream_t stream, int* device), stream, device)
FANIN_TEST_FAILS(cudaStreamIsCapturing, (cudaStream_t stream, cudaStreamCaptureStatus* status), stream, status)
FANIN_TEST_FAILS(cudaThreadExchangeStreamCaptureMode, (cudaStreamCaptureMode * mode), mode)
FANIN_TEST_FAILS(cudaStreamGetCaptureInfo,
                 (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,
                  const cudaGraphNode_t** before, const cudaGraphEdgeData** edges, std::size_t* many),
                 stream, status, id, graph, before, edges, many)
FANIN_TEST_FAILS(cudaFuncGetAttributes, (cudaFuncAttributes * found, const void* kernel), found, kernel)
FANIN_TEST_FAILS(cudaFuncSetAttribute, (const void* kernel, cudaFuncAttribute which, int value), kernel, which, value)
FANIN_TEST_FAILS(cudaOccupancyMaxActiveBlocksPerMultiprocessor,
                 (int* blocks, const void* kernel, int threads, std::size_t bytes), blocks, kernel, threads, bytes)
FANIN_TEST_FAILS(cudaLaunchKernelExC, (const cudaLaunchConfig_t* config, const void* kernel, void** arguments), config,
                 kernel, arguments)

FANIN_TEST_RUNTIME_CALL(cudaMalloc, cudaErrorMemoryAllocation, makes, 1, (void** memory, std::size_t bytes), memory,
                        bytes)
FANIN_TEST_RUNTIME_CALL(cudaFree, cudaErrorInvalidValue, gives_up, memory != nullptr, (void* memory), memory)
FANIN_TEST_RUNTIME_CALL(cudaHostAlloc, cudaErrorMemoryAllocation, makes, 1,
                        (void** memory, std::size_t bytes, unsigned flags), memory, bytes, flags)
FANIN_TEST_RUNTIME_CALL(cudaFreeHost, cudaErrorInvalidValue, gives_up, memory != nullptr, (void* memory), memory)
FANIN_TEST_RUNTIME_CALL(cudaStreamCreateWithFlags, cudaErrorMemoryAllocation, makes, 1,
                        (cudaStream_t * stream, unsigned flags), stream, flags)
FANIN_TEST_RUNTIME_CALL(cudaStreamDestroy, cudaErrorInvalidValue, gives_up, 1, (cudaStream_t stream), stream)
FANIN_TEST_RUNTIME_CALL(cudaStreamSynchronize, cudaErrorInvalidValue, waits, 0, (cudaStream_t stream), stream)
FANIN_TEST_RUNTIME_CALL(cudaUserObjectCreate, cudaErrorMemoryAllocation, makes, 1,
                        (cudaUserObject_t * made, void* of, cudaHostFn_t destroy, unsigned references, unsigned flags),
                        made, of, destroy, references, flags)
FANIN_TEST_RUNTIME_CALL(cudaUserObjectRelease, cudaErrorInvalidValue, gives_up, 1,
                        (cudaUserObject_t one, unsigned references), one, references)
/// With cudaGraphUserObjectMove, which is how Fanin calls it: from now on the graph's.
FANIN_TEST_RUNTIME_CALL(cudaGraphRetainUserObject, cudaErrorInvalidValue, makes, -1,
                        (cudaGraph_t graph, cudaUserObject_t one, unsigned references, unsigned flags), graph, one,
                        references, flags)

extern "C" cudaError_t __real_cudaDeviceGetAttribute(int*, cudaDeviceAttr, int);
extern "C" cudaError_t __wrap_cudaDeviceGetAttribute(int*, cudaDeviceAttr, int);
extern "C" cudaError_t __wrap_cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int device) {
  using namespace fanin_test;
  const cudaError_t status = pass("cudaDeviceGetAttribute", cudaErrorInvalidValue, kind::ordinary, 0,
                                  [&] { return __real_cudaDeviceGetAttribute(value, which, device); });
  if (plan.capability == 0) return status;
  if (which == cudaDevAttrComputeCapabilityMajor) *value = plan.capability;
  if (which == cudaDevAttrComputeCapabilityMinor) *value = 0;
  return status;
}

extern "C" cudaError_t __real_cudaGetDriverEntryPointByVersion(const char*, void**, unsigned, unsigned long long,
                                                               cudaDriverEntryPointQueryResult*);
extern "C" cudaError_t __wrap_cudaGetDriverEntryPointByVersion(const char*, void**, unsigned, unsigned long long,
                                                               cudaDriverEntryPointQueryResult*);
extern "C" cudaError_t __wrap_cudaGetDriverEntryPointByVersion(const char* name, void** found, unsigned version,
                                                               unsigned long long flags,
                                                               cudaDriverEntryPointQueryResult* result) {
  const cudaError_t status =
      fanin_test::pass("cudaGetDriverEntryPointByVersion", cudaErrorInvalidValue, fanin_test::kind::ordinary, 0,
                       [&] { return __real_cudaGetDriverEntryPointByVersion(name, found, version, flags, result); });
  if (status != cudaSuccess || *found == nullptr) return status;
  using namespace fanin_test;
  if (plan.lacks != nullptr && std::strcmp(name, plan.lacks) == 0) {
    *found = nullptr;
    *result = cudaDriverEntryPointSymbolNotFound;
    return status;
  }
  if (std::strcmp(name, "cuCtxGetId") == 0) put_before(found, real_context_id, &context_id);
  if (std::strcmp(name, "cuStreamIsCapturing") == 0) put_before(found, real_is_capturing, &is_capturing);
  return status;
}

extern "C" cudaError_t __real_cudaGetLastError();
extern "C" cudaError_t __wrap_cudaGetLastError();
extern "C" cudaError_t __wrap_cudaGetLastError() {
  fanin_test::note("cudaGetLastError");
  const cudaError_t mine = std::exchange(fanin_test::last_error, cudaSuccess);
  const cudaError_t real = __real_cudaGetLastError();
  return mine != cudaSuccess ? mine : real;
}
extern "C" cudaError_t __real_cudaPeekAtLastError();
extern "C" cudaError_t __wrap_cudaPeekAtLastError();
extern "C" cudaError_t __wrap_cudaPeekAtLastError() {
  fanin_test::note("cudaPeekAtLastError");
  return fanin_test::last_error != cudaSuccess ? fanin_test::last_error : __real_cudaPeekAtLastError();
}
// NOLINTEND(bugprone-reserved-identifier)
