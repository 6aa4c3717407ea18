// SPDX-License-Identifier: Apache-2.0

#include "shapes/kokkos.hpp"

#include <memory>

#include "shapes/on_cuda.hpp"

namespace fanin_perf::shapes {
namespace {

template <class T>
class kokkos_cuda : public on_cuda<T> {
 public:
  explicit kokkos_cuda(const problem<T>& of)
      : on_cuda<T>(of), space_(this->stream()), best_(space_, of, this->more()) {}
  void reduce(const problem<T>& of, const element_at<T>& f, T* out) const {
    reduce_by_kokkos(space_, of, f, this->more(), best_.lanes(), best_.by(), out);
  }
  preparation before() const { return best_.before(); }

 private:
  Kokkos::Cuda space_;
  best_by_kokkos<T, Kokkos::Cuda> best_;
};

}  // namespace

void add_kokkos_cuda(registry& to) {
  if (!Kokkos::is_initialized())
    to.runtimes.push_back(
        std::make_shared<Kokkos::ScopeGuard>(Kokkos::InitializationSettings().set_disable_warnings(true)));
  to.contenders.push_back(of_library<kokkos_cuda>({.name = "kokkos", .waits = false, .kinds = kinds_of_kokkos}));
}

}  // namespace fanin_perf::shapes
