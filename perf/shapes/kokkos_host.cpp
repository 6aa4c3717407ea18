// SPDX-License-Identifier: Apache-2.0

// All threads of the host: Fanin over Kokkos, and Kokkos.

#include <fanin/kokkos/kokkos.hpp>

#include <memory>

#include "shapes/fanin.hpp"
#include "shapes/kokkos.hpp"
#include "shapes/shape.hpp"

namespace fanin_perf::shapes {
namespace {

using space = Kokkos::DefaultHostExecutionSpace;

template <class T>
struct fanin_kokkos : on_host<T> {
  using on_host<T>::on_host;
  fanin::kokkos<space> exec;
  void reduce(const problem<T>& of, const element_at<T>& f, T* out) {
    if (of.of.what == kind::triangle) {
      const auto dynamic = exec.with({.schedule = fanin::schedule::dynamic, .chunk = chunk_of_triangle});
      fanin::parallel_reduce_into(out, fanin::range(dynamic, of.of.n), sum_in_triangle<T>{f.x, of.of.n, of.of.m},
                                  fanin::sum<T>{});
    } else {
      reduce_by_fanin(exec, of, f, this->indices.more(), out);
    }
  }
};

template <class T>
struct plain_kokkos : on_host<T> {
  using on_host<T>::on_host;
  void reduce(const problem<T>& of, const element_at<T>& f, T* out) {
    reduce_by_kokkos(space(), of, f, this->indices.more(), 1, {}, out);
  }
};

}  // namespace

void add_kokkos_host(registry& to) {
  if (!Kokkos::is_initialized())
    to.runtimes.push_back(
        std::make_shared<Kokkos::ScopeGuard>(Kokkos::InitializationSettings().set_disable_warnings(true)));
  to.contenders.push_back(of_library<fanin_kokkos>({.name = "fanin kokkos", .is_peer = false}));
  to.contenders.push_back(of_library<plain_kokkos>({.name = "kokkos", .kinds = kinds_of_kokkos}));
}

}  // namespace fanin_perf::shapes
