// SPDX-License-Identifier: Apache-2.0

// Plain Kokkos on its OpenMP space, all threads.

#include "contenders/kokkos_plain.hpp"
#include "harness/registry.hpp"

namespace fanin_perf {

void add_kokkos_openmp(registry& to) {
  to.add(of_family(kokkos_described("kokkos-openmp", place::all_threads), kokkos_on_host<Kokkos::OpenMP>{}));
}

}  // namespace fanin_perf
