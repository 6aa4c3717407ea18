// SPDX-License-Identifier: Apache-2.0

// Calls on the simulated device: what the CUDA backend does on the host counts, the CUDA runtime and the kernel do not.

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <array>
#include <cstring>
#include <fanin/cuda/cuda.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/reduce.hpp>
#include <fanin/reducers.hpp>
#include <span_reduction.cuh>

#include "count_calls.hpp"
#include "simulator/kernel_call.hpp"
#include "simulator/machine.hpp"

namespace fanin::detail {
template struct cuda_span_reduction<sum<double>>;  // which the library has
}  // namespace fanin::detail

namespace {

using fanin_test::arguments;
using fanin_test::element;

/// What runs in its scope does not count.
class aside {
 public:
  aside() { fanin_test::count(false); }
  ~aside() { fanin_test::count(before_); }
  aside(const aside&) = delete;
  aside& operator=(const aside&) = delete;

 private:
  const bool before_ = fanin_test::is_counting;
};

CUresult (*real_context_id)(CUcontext, unsigned long long*) = nullptr;
CUresult (*real_is_capturing)(CUstream, CUstreamCaptureStatus*) = nullptr;
CUresult context_id(CUcontext context, unsigned long long* id) {
  const aside scope;
  return real_context_id(context, id);
}
CUresult is_capturing(CUstream stream, CUstreamCaptureStatus* status) {
  const aside scope;
  return real_is_capturing(stream, status);
}

template <class Function>
void put_before(void** found, Function*& real, Function* mine) {
  real = reinterpret_cast<Function*>(*found);
  *found = reinterpret_cast<void*>(mine);
}

}  // namespace

// What a call of an object that has made others passes, by the linker's names (--wrap). A function that is not here
// counts with all it does.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
cudaError_t __real_cudaPointerGetAttributes(cudaPointerAttributes*, const void*);
cudaError_t __wrap_cudaPointerGetAttributes(cudaPointerAttributes*, const void*);
cudaError_t __wrap_cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  const aside scope;
  return __real_cudaPointerGetAttributes(attributes, pointer);
}

cudaError_t __real_cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void*, void**);
cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void*, void**);
/// The kernel has ended when this returns: how often the host looks for its result would vary.
cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel, void** arguments) {
  const aside scope;
  const cudaError_t status = __real_cudaLaunchKernelExC(config, kernel, arguments);
  return status == cudaSuccess ? cudaStreamSynchronize(config->stream) : status;
}

cudaError_t __real_cudaGetDriverEntryPointByVersion(const char*, void**, unsigned, unsigned long long,
                                                    cudaDriverEntryPointQueryResult*);
cudaError_t __wrap_cudaGetDriverEntryPointByVersion(const char*, void**, unsigned, unsigned long long,
                                                    cudaDriverEntryPointQueryResult*);
cudaError_t __wrap_cudaGetDriverEntryPointByVersion(const char* name, void** found, unsigned version,
                                                    unsigned long long flags, cudaDriverEntryPointQueryResult* result) {
  const cudaError_t status = __real_cudaGetDriverEntryPointByVersion(name, found, version, flags, result);
  if (std::strcmp(name, "cuCtxGetId") == 0) put_before(found, real_context_id, &context_id);
  if (std::strcmp(name, "cuStreamIsCapturing") == 0) put_before(found, real_is_capturing, &is_capturing);
  return status;
}
}

// The simulated runtime's, by its mangled name: a real one knows its kernels.
void real_know_kernel(const void*, simulator::kernel_binder) asm("__real_" FANIN_KNOW_KERNEL);
void know_kernel_aside(const void*, simulator::kernel_binder) asm("__wrap_" FANIN_KNOW_KERNEL);
void know_kernel_aside(const void* kernel, simulator::kernel_binder binder) {
  const aside scope;
  real_know_kernel(kernel, binder);
}
// NOLINTEND(bugprone-reserved-identifier)

namespace {

/// Made with the device, and never destroyed: the device goes before it.
const fanin::cuda& gpu() {
  static const auto* const object = [] {
    simulator::begin(simulator::schedule(1));
    return new fanin::cuda;
  }();
  return *object;
}

[[gnu::noinline]] double cuda_reduce(const arguments& a) {
  return fanin::reduce(gpu(), a.span(), fanin::sum<double>{});
}

[[gnu::noinline]] double cuda_parallel_reduce(const arguments& a) {
  return fanin::parallel_reduce(fanin::range(gpu(), a.first, a.last), element{a.x}, fanin::sum<double>{});
}

double out = 0;

[[gnu::noinline]] double cuda_reduce_into(const arguments& a) {
  fanin::reduce_into(&out, gpu(), a.span(), fanin::sum<double>{});
  return out;
}

[[gnu::noinline]] double cuda_parallel_reduce_into(const arguments& a) {
  fanin::parallel_reduce_into(&out, fanin::range(gpu(), a.first, a.last), element{a.x}, fanin::sum<double>{});
  return out;
}

[[gnu::noinline]] double cuda_reduce_async(const arguments& a) {
  return fanin::reduce_async(gpu(), a.span(), fanin::sum<double>{}).get();
}

constexpr auto calls = std::to_array<fanin_test::named_call>({
    {"cuda_reduce", cuda_reduce},
    {"cuda_parallel_reduce", cuda_parallel_reduce},
    {"cuda_reduce_into", cuda_reduce_into},
    {"cuda_parallel_reduce_into", cuda_parallel_reduce_into},
    {"cuda_reduce_async", cuda_reduce_async},
});

}  // namespace

int main(int count, char** words) { return fanin_test::count_calls(calls, count, words); }
