// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include <Kokkos_Core.hpp>
#include <fanin/detail/finished_composite.hpp>
#include <fanin/macros.hpp>

/// Fanin's functors and reducers as Kokkos wants them: named structs, since host-device lambdas are slow on the host
/// when nvcc compiles them.
namespace fanin::detail {

/// An accumulator as Kokkos moves it: on CUDA in words of 4 bytes, so that no size beyond 2 bytes may leave a rest.
template <class Accumulator>
struct alignas(sizeof(Accumulator) > 2 && alignof(Accumulator) < 4 ? 4 : alignof(Accumulator)) kokkos_slot {
  static_assert(alignof(Accumulator) <= 64,
                "fanin: on Kokkos an accumulator is aligned to 64 bytes at most, as Kokkos's own memory is");
  Accumulator value;
};

/// A composite of Fanin's as a Kokkos reducer, with Fanin's identities and joins. The result goes to *result, memory of
/// MemorySpace.
template <class Composite, class MemorySpace, bool Blocks>
class kokkos_reducer {
 public:
  using reducer = kokkos_reducer;
  using value_type = kokkos_slot<typename Composite::accumulator_type>;
  using result_view_type = Kokkos::View<value_type, MemorySpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  kokkos_reducer(const Composite& composite, value_type* result) : composite_{composite}, result_{result} {}

  FANIN_FUNCTION void init(value_type& slot) const {
    ::new (static_cast<void*>(&slot)) value_type{composite_.identity()};
  }
  FANIN_FUNCTION void join(value_type& into, const value_type& from) const { composite_.join(into.value, from.value); }
  FANIN_FUNCTION value_type& reference() const { return *result_; }
  FANIN_FUNCTION result_view_type view() const { return result_view_type(result_); }
  /// Whether Kokkos fences afterwards.
  FANIN_FUNCTION constexpr bool references_scalar() const { return Blocks; }

 private:
  Composite composite_;
  value_type* result_;
};

/// One index per call, into the accumulator that Kokkos passes. Kokkos counts from 0: on CUDA its loop wraps around
/// near the largest index, since it steps by a grid's width beyond the end.
template <class F, class Composite>
struct kokkos_element_functor {
  F f;
  Composite composite;
  std::int64_t first;

  FANIN_FUNCTION void operator()(std::int64_t i, kokkos_slot<typename Composite::accumulator_type>& slot) const {
    composite.accumulate(f, slot.value, first + i);
  }
};

/// The indices of one of `items` work items of a device: every items-th, so that neighbouring threads read neighbouring
/// elements.
struct kokkos_share {
  std::int64_t first;
  std::int64_t count;
  std::int64_t items;

  template <class Visit>
  FANIN_FUNCTION void visit(std::int64_t item, const Visit& each) const {
    const std::int64_t n = count / items + (item < count % items ? 1 : 0);
    for (std::int64_t k = 0; k < n; ++k) each(first + item + k * items);
  }
};

template <class F, class Composite>
struct kokkos_accumulate {
  const F& f;
  const Composite& composite;
  typename Composite::state_type& state;
  FANIN_FUNCTION void operator()(std::int64_t i) const { composite.accumulate(f, state, i); }
};

template <class T>
struct kokkos_span_functor {
  const T* data;
  FANIN_FUNCTION const T& operator()(std::int64_t i) const { return data[i]; }
};

template <class F>
inline constexpr bool reads_one_array = false;
template <class T>
inline constexpr bool reads_one_array<kokkos_span_functor<T>> = true;

/// One work item per call, which gathers its share into an array of slots: for reducers with a spill, and what is too
/// large for Kokkos's own.
template <class F, class Composite>
struct kokkos_gather_functor {
  F f;
  Composite composite;
  kokkos_share share;
  kokkos_slot<typename Composite::accumulator_type>* partials;

  FANIN_FUNCTION void operator()(std::int64_t item) const {
    auto& slot = *::new (static_cast<void*>(partials + item))
                     kokkos_slot<typename Composite::accumulator_type>{composite.identity()};
    auto state = composite.begin(slot.value);
    share.visit(item, kokkos_accumulate<F, Composite>{f, composite, state});
    composite.finish(state, slot.value);
  }
};

/// Slot i takes slot i + half in.
template <class Composite>
struct kokkos_halve_functor {
  Composite composite;
  kokkos_slot<typename Composite::accumulator_type>* partials;
  std::int64_t half;

  FANIN_FUNCTION void operator()(std::int64_t i) const { composite.join(partials[i].value, partials[i + half].value); }
};

/// Turns the accumulator into the result, where the next in line reads it.
template <class Composite>
struct kokkos_result_functor {
  Composite composite;
  const kokkos_slot<typename Composite::accumulator_type>* from;
  typename Composite::result_type* out;

  FANIN_FUNCTION void operator()(std::int64_t) const { *out = composite.result(from->value); }
};

/// g of results that the host has, where the next in line reads it.
template <class Result, class G, class Results>
struct kokkos_finish_functor {
  G g;
  Results results;
  Result* out;

  FANIN_FUNCTION void operator()(std::int64_t) const { *out = detail::finish_with<Result>(g, results); }
};

template <class F>
struct kokkos_for_functor {
  F f;
  std::int64_t first;
  FANIN_FUNCTION void operator()(std::int64_t i) const { f(first + i); }
};
/// On a host, where f may be callable there alone.
template <class F>
struct kokkos_for_functor_of_host {
  F f;
  std::int64_t first;
  void operator()(std::int64_t i) const { f(first + i); }
};

}  // namespace fanin::detail
