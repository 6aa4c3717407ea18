// SPDX-License-Identifier: Apache-2.0
#include "harness/build.hpp"
#include "shapes/shape.hpp"

namespace fanin_perf::shapes {

registry all_contenders(bool on_gpu) {
  registry all;
  if (!on_gpu) {
    add_host(all);
#if FANIN_PERF_HAS_KOKKOS && !FANIN_PERF_HAS_KOKKOS_CUDA
    add_kokkos_host(all);
#endif
#if FANIN_PERF_HAS_KOKKOS_OPENMP && !FANIN_PERF_HAS_KOKKOS_CUDA
    add_openmp(all);
#endif
    return all;
  }
#if FANIN_PERF_HAS_CUDA
  add_fanin_cuda(all);
  add_cub(all);
#if FANIN_PERF_HAS_CCCL_WHEEL
  add_cub_wheel(all);
#endif
#if FANIN_PERF_HAS_CUSPARSE
  add_cusparse(all);
#endif
#if FANIN_PERF_HAS_KOKKOS_CUDA
  add_kokkos_cuda(all);
#endif
#endif
  return all;
}

}  // namespace fanin_perf::shapes
