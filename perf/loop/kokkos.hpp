// SPDX-License-Identifier: Apache-2.0
#pragma once

// Plain Kokkos as a library of forms.hpp.

#include <cstdint>
#include <utility>

#include "contenders/kokkos_plain.hpp"
#include "loop/forms.hpp"

namespace fanin_perf::cg {

/// acc += f(i)
template <class T, class F>
struct accumulate {
  F f;
  KOKKOS_FUNCTION void operator()(std::int64_t i, T& acc) const { acc += f(i); }
};

/// `Place` gives the execution space, the user's kernels, and what stands in its memory.
template <class T, class Place>
class kokkos_library {
 public:
  explicit kokkos_library(void* stream) : place_(stream), space_(place_.make_exec()) {}

  template <class F>
  void each(std::int64_t n, const F& f) {
    place_.each(n, f);
  }
  void dot(T* out, const T* a, const T* b, std::int64_t n) {
    view to(out);
    kokkos_reduce<T, operation::dot>(space_, a, b, n, to);
  }
  void squares(T* out, const T* a, std::int64_t n) {
    view to(out);
    kokkos_reduce<T, operation::sum_of_squares>(space_, a, a, n, to);
  }
  template <class F>
  void sum(T* out, std::int64_t n, const F& f) {
    Kokkos::parallel_reduce(policy(space_, 0, n), accumulate<T, F>{f}, Kokkos::Sum<T, memory>(view(out)));
  }
  template <class F>
  T sum(std::int64_t n, const F& f) {
    T found = 0;
    Kokkos::parallel_reduce(policy(space_, 0, n), accumulate<T, F>{f}, found);
    return found;
  }
  void read(T* to, const T* from, std::int64_t n) { place_.read(to, from, n); }

 private:
  using space = decltype(std::declval<const Place&>().make_exec());
  using memory = typename space::memory_space;
  using policy = Kokkos::RangePolicy<space, Kokkos::IndexType<std::int64_t>>;
  using view = Kokkos::View<T, memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  Place place_;
  space space_;
};

}  // namespace fanin_perf::cg
