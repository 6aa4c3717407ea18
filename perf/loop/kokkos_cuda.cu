// SPDX-License-Identifier: Apache-2.0

// Plain Kokkos on CUDA: to a View in device memory, and to a scalar.

#include <memory>

#include "loop/kokkos.hpp"
#include "loop/on_cuda.hpp"
#include "loop/registry.hpp"

namespace fanin_perf::cg {
namespace {

struct cuda_with_space : on_cuda {
  using on_cuda::on_cuda;
  Kokkos::Cuda make_exec() const { return Kokkos::Cuda(stream()); }
};

template <class T>
using library = kokkos_library<T, cuda_with_space>;

}  // namespace

void add_kokkos_cuda(registry& to) {
  if (!Kokkos::is_initialized())
    to.runtimes.push_back(
        std::make_shared<Kokkos::ScopeGuard>(Kokkos::InitializationSettings().set_disable_warnings(true)));
  to.contenders.push_back(
      of_form<fused, library>({.library = "kokkos", .form = "fused", .on_gpu = true, .is_peer = true}));
  to.contenders.push_back(
      of_form<over_arrays, library>({.library = "kokkos", .form = "arrays", .on_gpu = true, .is_peer = true}));
  to.contenders.push_back(of_form<blocking, library>(
      {.library = "kokkos", .form = "blocking", .on_gpu = true, .is_peer = true, .blocks = true}));
}

}  // namespace fanin_perf::cg
