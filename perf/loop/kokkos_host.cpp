// SPDX-License-Identifier: Apache-2.0

// Plain Kokkos, and Fanin over it, on Kokkos's host space.

#include <fanin/kokkos/kokkos.hpp>

#include <memory>

#include "loop/fanin.hpp"
#include "loop/kokkos.hpp"
#include "loop/on_host.hpp"
#include "loop/registry.hpp"

namespace fanin_perf::cg {
namespace {

using host_space = Kokkos::DefaultHostExecutionSpace;

template <class T>
using fanin_on_kokkos = fanin_library<T, on_host<fanin::kokkos<host_space>>>;
template <class T>
using plain = kokkos_library<T, on_host<host_space>>;

}  // namespace

void add_kokkos_host(registry& to) {
  if (!Kokkos::is_initialized())
    to.runtimes.push_back(
        std::make_shared<Kokkos::ScopeGuard>(Kokkos::InitializationSettings().set_disable_warnings(true)));
  to.contenders.push_back(of_form<finished, fanin_on_kokkos>({.library = "fanin kokkos", .form = "finished"}));
  to.contenders.push_back(of_form<fused, plain>({.library = "kokkos", .form = "fused", .is_peer = true}));
  to.contenders.push_back(of_form<over_arrays, plain>({.library = "kokkos", .form = "arrays", .is_peer = true}));
  to.contenders.push_back(
      of_form<blocking, plain>({.library = "kokkos", .form = "blocking", .is_peer = true, .blocks = true}));
}

}  // namespace fanin_perf::cg
