// SPDX-License-Identifier: Apache-2.0

// Fanin over Kokkos's OpenMP space.

#include "contenders/fanin_kokkos.hpp"
#include "harness/registry.hpp"

namespace fanin_perf {

void add_fanin_kokkos_openmp(registry& to) {
  to.add(of_family(fanin_kokkos_described("kokkos-openmp", place::all_threads),
                   fanin_blocking<make_fanin_kokkos<Kokkos::OpenMP>>{}));
}

}  // namespace fanin_perf
