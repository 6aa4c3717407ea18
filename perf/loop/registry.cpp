// SPDX-License-Identifier: Apache-2.0
#include "loop/registry.hpp"

#include "harness/build.hpp"

namespace fanin_perf::cg {

registry all_contenders(bool on_gpu) {
  registry all;
  if (!on_gpu) {
    add_serial(all);
#if FANIN_PERF_HAS_KOKKOS && !FANIN_PERF_HAS_KOKKOS_CUDA
    add_kokkos_host(all);
#endif
    return all;
  }
#if FANIN_PERF_HAS_CUDA
  add_fanin_cuda(all);
  add_cub(all);
#if FANIN_PERF_HAS_CCCL_WHEEL
  add_cub_wheel(all);
#endif
#if FANIN_PERF_HAS_CUBLAS
  add_cublas(all);
#endif
#if FANIN_PERF_HAS_KOKKOS_CUDA
  add_kokkos_cuda(all);
#endif
#endif
  return all;
}

}  // namespace fanin_perf::cg
