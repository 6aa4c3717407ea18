// SPDX-License-Identifier: Apache-2.0

// Plain Kokkos on its Serial space, and Kokkos's lifetime.

#include "contenders/kokkos_plain.hpp"
#include "harness/registry.hpp"

namespace fanin_perf {

void add_kokkos_serial(registry& to) {
  to.versions["kokkos"] = std::to_string(KOKKOS_VERSION / 10000) + "." + std::to_string(KOKKOS_VERSION / 100 % 100) +
                          "." + std::to_string(KOKKOS_VERSION % 100);
  to.add(of_family(kokkos_described("kokkos-serial", place::one_thread), kokkos_on_host<Kokkos::Serial>{}));
}

std::shared_ptr<void> start_kokkos() {
  // Kokkos's advice about thread binding goes to stderr otherwise, in the middle of the progress.
  return std::make_shared<Kokkos::ScopeGuard>(Kokkos::InitializationSettings().set_disable_warnings(true));
}

}  // namespace fanin_perf
