// SPDX-License-Identifier: Apache-2.0

// Fanin over Kokkos's Serial space.

#include "contenders/fanin_kokkos.hpp"
#include "harness/registry.hpp"

namespace fanin_perf {

void add_fanin_kokkos_serial(registry& to) {
  to.add(of_family(fanin_kokkos_described("kokkos-serial", place::one_thread),
                   fanin_blocking<make_fanin_kokkos<Kokkos::Serial>>{}));
}

}  // namespace fanin_perf
