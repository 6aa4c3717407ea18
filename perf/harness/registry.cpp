// SPDX-License-Identifier: Apache-2.0
#include "harness/registry.hpp"

#include <algorithm>
#include <utility>

#include "harness/build.hpp"

namespace fanin_perf {

void registry::add(contender made) {
  const auto same = std::find_if(contenders.begin(), contenders.end(), [&](const contender& who) {
    return who.backend == made.backend && who.label() == made.label() && who.to == made.to;
  });
  if (same == contenders.end()) {
    contenders.push_back(std::move(made));
  } else {
    *same = joined(*same, made);
  }
}

registry all_contenders() {
  registry all;
  add_fanin_serial(all);
  add_std_reduce(all);
#if FANIN_PERF_HAS_KOKKOS
  add_fanin_kokkos_serial(all);
  add_kokkos_serial(all);
#if FANIN_PERF_HAS_KOKKOS_OPENMP
  add_fanin_kokkos_openmp(all);
  add_kokkos_openmp(all);
#endif
#endif
#if FANIN_PERF_HAS_CUDA
  add_fanin_cuda(all);
  add_fanin_cuda_types(all);
  add_fanin_cuda_values(all);
  add_fanin_cuda_accumulators(all);
  add_fanin_cuda_exact(all);
#if FANIN_PERF_HAS_KOKKOS_CUDA
  add_kokkos_cuda(all);
#endif
  add_cub(all);
  add_cub_types(all);
#if FANIN_PERF_HAS_CCCL_WHEEL
  add_cub_wheel(all);
  add_cub_wheel_types(all);
  add_cub_wheel_exact(all);
#endif
  add_thrust(all);
#if FANIN_PERF_HAS_CUBLAS
  add_cublas(all);
#endif
#endif
  return all;
}

registry all_tunings() {
  registry all;
#if FANIN_PERF_HAS_CUDA
  add_fanin_cuda_tunings(all);
#endif
  return all;
}

#if !FANIN_PERF_HAS_KOKKOS
std::shared_ptr<void> start_kokkos() { return nullptr; }
#endif

}  // namespace fanin_perf
