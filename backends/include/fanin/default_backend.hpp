// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <fanin/axes.hpp>
#include <fanin/buffer.hpp>
#include <fanin/config.hpp>
#include <fanin/detail/ranks_data.hpp>
#include <fanin/detail/variant.hpp>
#include <fanin/execution.hpp>
#include <fanin/md_range.hpp>
#include <fanin/range.hpp>
#include <fanin/reduce.hpp>
#include <fanin/runs.hpp>
#include <fanin/segments.hpp>

/// What an application gets that names no execution object: the backend of -DFANIN_DEFAULT_BACKEND=serial|kokkos|cuda.
#if FANIN_DEFAULT_BACKEND == FANIN_BACKEND_CUDA
#include <fanin/cuda/cuda.hpp>
#elif FANIN_DEFAULT_BACKEND == FANIN_BACKEND_KOKKOS
#if defined(FANIN_WITHOUT_KOKKOS)
#error "fanin: FANIN_WITHOUT_KOKKOS is defined, and the default backend is Kokkos"
#endif
#if FANIN_KOKKOS_NEEDS_CUDA && !defined(__CUDACC__)
#error \
    "fanin: the default backend is a Kokkos that was built with CUDA: compile this file as CUDA, with the CMake function fanin_target(<your target>)"
#endif
#include <fanin/kokkos/kokkos.hpp>
#else
#include <fanin/serial/serial.hpp>
#endif

namespace fanin {

#if FANIN_DEFAULT_BACKEND == FANIN_BACKEND_CUDA
#define FANIN_DETAIL_DEFAULTS FANIN_DETAIL_VERSIONED(default, cuda)
using default_backend = cuda;
#elif FANIN_DEFAULT_BACKEND == FANIN_BACKEND_KOKKOS
#define FANIN_DETAIL_DEFAULTS FANIN_DETAIL_VERSIONED(default, kokkos)
using default_backend = kokkos<>;
#else
#define FANIN_DETAIL_DEFAULTS FANIN_DETAIL_VERSIONED(default, serial)
using default_backend = serial;
#endif

template <class T, class Exec = default_backend>
class buffer;

namespace detail {

/// What may be meant for an array: no object, no label, no destination.
template <class X>
concept no_object = !execution<X> && !label<X> && !std::is_pointer_v<X> && !is_runs_to<X>;
/// What may be meant for a reducer: where it is data of many results, what comes before is their destination.
template <class X>
concept no_data_with_destination = !data_of_many<X> && !has_runs<X>;

}  // namespace detail

/// Libraries of one program may have different default backends: each has functions of its own.
inline namespace FANIN_DETAIL_DEFAULTS {

/// The default object: one per host thread (and device), made at first use.
inline default_backend& default_execution() { return backend<default_backend>::default_object(); }

/// [0, n) on the default object. Throws invalid_argument when n is negative or does not fit 64 bits.
template <class... How, detail::index_value N>
detail::range_on_t<default_backend, How...> range(N n) {
  return fanin::range<How...>(default_execution(), n);
}

/// [first, last) on the default object. Throws invalid_argument when the extent is negative or does not fit 64 bits.
template <class... How, detail::index_value First, detail::index_value Last>
detail::range_on_t<default_backend, How...> range(First first, Last last) {
  return fanin::range<How...>(default_execution(), first, last);
}

/// The ranges of fanin/md_range.hpp on the default object.
template <iterate Order = iterate::right, class... How, std::size_t Rank>
detail::md_range_on_t<default_backend, Rank, Order, How...> md_range(const detail::md_bound (&extents)[Rank]) {
  return fanin::md_range<Order, How...>(default_execution(), detail::index_of_bounds(extents));
}
template <iterate Order = iterate::right, class... How, detail::md_bounds Bounds>
auto md_range(const Bounds& extents) {
  return fanin::md_range<Order, How...>(default_execution(), extents);
}
template <iterate Order = iterate::right, class... How, std::size_t Rank>
detail::md_range_on_t<default_backend, Rank, Order, How...> md_range(const detail::md_bound (&lower)[Rank],
                                                                     const detail::md_bound (&upper)[Rank]) {
  return fanin::md_range<Order, How...>(default_execution(), detail::index_of_bounds(lower),
                                        detail::index_of_bounds(upper));
}
template <iterate Order = iterate::right, class... How, detail::md_bounds Lower, detail::md_bounds Upper>
auto md_range(const Lower& lower, const Upper& upper) {
  return fanin::md_range<Order, How...>(default_execution(), lower, upper);
}

template <class First, class... How, std::size_t Rank>
auto md_range(const detail::md_bound (&extents)[Rank]) {
  return fanin::md_range<iterate::right, First, How...>(default_execution(), detail::index_of_bounds(extents));
}
template <class First, class... How, detail::md_bounds Bounds>
auto md_range(const Bounds& extents) {
  return fanin::md_range<iterate::right, First, How...>(default_execution(), extents);
}
template <class First, class... How, std::size_t Rank>
auto md_range(const detail::md_bound (&lower)[Rank], const detail::md_bound (&upper)[Rank]) {
  return fanin::md_range<iterate::right, First, How...>(default_execution(), detail::index_of_bounds(lower),
                                                        detail::index_of_bounds(upper));
}
template <class First, class... How, detail::md_bounds Lower, detail::md_bounds Upper>
auto md_range(const Lower& lower, const Upper& upper) {
  return fanin::md_range<iterate::right, First, How...>(default_execution(), lower, upper);
}

/// The ranges of fanin/axes.hpp on the default object.
template <detail::index_value Rows, detail::index_value Columns>
auto rows(Rows n, Columns m) {
  return fanin::rows(default_execution(), n, m);
}
template <detail::index_value Rows, detail::index_value Columns>
auto columns(Rows n, Columns m) {
  return fanin::columns(default_execution(), n, m);
}

/// The range of fanin/segments.hpp on the default object.
template <detail::no_object Offsets>
  requires(detail::array<Offsets>)
auto segments(const Offsets& offsets) {
  return fanin::segments(default_execution(), offsets);
}

/// The range of fanin/runs.hpp on the default object.
template <detail::no_object Keys>
  requires(detail::array<Keys>)
auto runs(const Keys& keys) {
  return fanin::runs(default_execution(), keys);
}

/// The calls of fanin/runs.hpp on the default object.
template <class Keys, class Results, class Count, detail::data_of_runs Data, class... Reducer>
std::int64_t reduce(detail::call_label label, const runs_to<Keys, Results, Count>& to, const Data& data,
                    const Reducer&... reducers) {
  return fanin::reduce(label.get(), to, default_execution(), data, reducers...);
}
template <class Keys, class Results, class Count, detail::data_of_runs Data, class... Reducer>
std::int64_t reduce(const runs_to<Keys, Results, Count>& to, const Data& data, const Reducer&... reducers) {
  return fanin::reduce(to, default_execution(), data, reducers...);
}
template <class Keys, class Results, class Count, detail::data_of_runs Data, class... Reducer>
void reduce_into(detail::call_label label, const runs_to<Keys, Results, Count>& to, const Data& data,
                 const Reducer&... reducers) {
  fanin::reduce_into(label.get(), to, default_execution(), data, reducers...);
}
template <class Keys, class Results, class Count, detail::data_of_runs Data, class... Reducer>
void reduce_into(const runs_to<Keys, Results, Count>& to, const Data& data, const Reducer&... reducers) {
  fanin::reduce_into(to, default_execution(), data, reducers...);
}

template <class Keys, class Results, class Count, detail::data_of_runs Data, class... Reducer>
[[nodiscard]] pending<std::int64_t> reduce_async(detail::call_label label, const runs_to<Keys, Results, Count>& to,
                                                 const Data& data, const Reducer&... reducers) {
  return fanin::reduce_async(label.get(), to, default_execution(), data, reducers...);
}
template <class Keys, class Results, class Count, detail::data_of_runs Data, class... Reducer>
[[nodiscard]] pending<std::int64_t> reduce_async(const runs_to<Keys, Results, Count>& to, const Data& data,
                                                 const Reducer&... reducers) {
  return fanin::reduce_async(to, default_execution(), data, reducers...);
}

/// The calls of fanin/reduce.hpp on the default object.
template <detail::no_object X, class... Reducer>
detail::array_result_t<X, Reducer...> reduce(detail::call_label label, const X& xs, const Reducer&... reducers) {
  return fanin::reduce(label.get(), default_execution(), xs, reducers...);
}
template <detail::no_object X, class... Reducer>
detail::array_result_t<X, Reducer...> reduce(const X& xs, const Reducer&... reducers) {
  return fanin::reduce(default_execution(), xs, reducers...);
}
template <detail::no_object X, class... Reducer>
  requires(!detail::data_of_many<X>)
void reduce_into(detail::call_label label, detail::array_result_t<X, Reducer...>* out, const X& xs,
                 const Reducer&... reducers) {
  fanin::reduce_into(label.get(), out, default_execution(), xs, reducers...);
}
template <detail::no_object X, class... Reducer>
  requires(!detail::data_of_many<X> &&
           !(detail::data_of_many<Reducer> || ...))  // behind a null label and a destination
void reduce_into(detail::array_result_t<X, Reducer...>* out, const X& xs, const Reducer&... reducers) {
  fanin::reduce_into(out, default_execution(), xs, reducers...);
}
template <detail::data_of_many Data, class... Reducer>
void reduce_into(detail::call_label label, detail::one_of_data_t<Data, Reducer...>* out, const Data& data,
                 const Reducer&... reducers) {
  fanin::reduce_into(label.get(), out, default_execution(), data, reducers...);
}
template <detail::data_of_many Data, class... Reducer>
void reduce_into(detail::one_of_data_t<Data, Reducer...>* out, const Data& data, const Reducer&... reducers) {
  fanin::reduce_into(out, default_execution(), data, reducers...);
}
template <class Out, detail::data_of_many Data, class... Reducer>
  requires(detail::destination_of_many<std::remove_cvref_t<Out>>)
void reduce_into(detail::call_label label, Out&& out, const Data& data, const Reducer&... reducers) {
  fanin::reduce_into(label.get(), std::forward<Out>(out), default_execution(), data, reducers...);
}
template <class Out, detail::data_of_many Data, class... Reducer>
  requires(detail::destination_of_many<std::remove_cvref_t<Out>>)
void reduce_into(Out&& out, const Data& data, const Reducer&... reducers) {
  fanin::reduce_into(std::forward<Out>(out), default_execution(), data, reducers...);
}
template <detail::no_object X, class... Argument>
detail::transform_result_t<X, Argument...> transform_reduce(detail::call_label label, const X& xs,
                                                            const Argument&... arrays_f_reducers) {
  return fanin::transform_reduce(label.get(), default_execution(), xs, arrays_f_reducers...);
}
template <detail::no_object X, class... Argument>
detail::transform_result_t<X, Argument...> transform_reduce(const X& xs, const Argument&... arrays_f_reducers) {
  return fanin::transform_reduce(default_execution(), xs, arrays_f_reducers...);
}
template <detail::no_object X, class... Argument>
void transform_reduce_into(detail::call_label label, detail::transform_result_t<X, Argument...>* out, const X& xs,
                           const Argument&... arrays_f_reducers) {
  fanin::transform_reduce_into(label.get(), out, default_execution(), xs, arrays_f_reducers...);
}
template <detail::no_object X, class... Argument>
void transform_reduce_into(detail::transform_result_t<X, Argument...>* out, const X& xs,
                           const Argument&... arrays_f_reducers) {
  fanin::transform_reduce_into(out, default_execution(), xs, arrays_f_reducers...);
}
template <detail::no_object X, class... Reducer>
  requires(detail::no_data_with_destination<Reducer> && ...)
[[nodiscard]] detail::pending_t<detail::array_result_t<X, Reducer...>> reduce_async(detail::call_label label,
                                                                                    const X& xs,
                                                                                    const Reducer&... reducers) {
  return fanin::reduce_async(label.get(), default_execution(), xs, reducers...);
}
template <detail::no_object X, class... Reducer>
  requires(detail::no_data_with_destination<Reducer> && ...)
[[nodiscard]] detail::pending_t<detail::array_result_t<X, Reducer...>> reduce_async(const X& xs,
                                                                                    const Reducer&... reducers) {
  return fanin::reduce_async(default_execution(), xs, reducers...);
}
template <detail::data_of_many Data, class... Reducer>
[[nodiscard]] pending<void> reduce_async(detail::call_label label, detail::one_of_data_t<Data, Reducer...>* out,
                                         const Data& data, const Reducer&... reducers) {
  return fanin::reduce_async(label.get(), out, default_execution(), data, reducers...);
}
template <detail::data_of_many Data, class... Reducer>
[[nodiscard]] pending<void> reduce_async(detail::one_of_data_t<Data, Reducer...>* out, const Data& data,
                                         const Reducer&... reducers) {
  return fanin::reduce_async(out, default_execution(), data, reducers...);
}
template <class Out, detail::data_of_many Data, class... Reducer>
  requires(detail::destination_of_many<std::remove_cvref_t<Out>>)
[[nodiscard]] pending<void> reduce_async(detail::call_label label, Out&& out, const Data& data,
                                         const Reducer&... reducers) {
  return fanin::reduce_async(label.get(), std::forward<Out>(out), default_execution(), data, reducers...);
}
template <class Out, detail::data_of_many Data, class... Reducer>
  requires(detail::destination_of_many<std::remove_cvref_t<Out>>)
[[nodiscard]] pending<void> reduce_async(Out&& out, const Data& data, const Reducer&... reducers) {
  return fanin::reduce_async(std::forward<Out>(out), default_execution(), data, reducers...);
}
template <detail::no_object X, class... Argument>
[[nodiscard]] detail::pending_t<detail::transform_result_t<X, Argument...>> transform_reduce_async(
    detail::call_label label, const X& xs, const Argument&... arrays_f_reducers) {
  return fanin::transform_reduce_async(label.get(), default_execution(), xs, arrays_f_reducers...);
}
template <detail::no_object X, class... Argument>
[[nodiscard]] detail::pending_t<detail::transform_result_t<X, Argument...>> transform_reduce_async(
    const X& xs, const Argument&... arrays_f_reducers) {
  return fanin::transform_reduce_async(default_execution(), xs, arrays_f_reducers...);
}

}  // namespace FANIN_DETAIL_DEFAULTS

}  // namespace fanin
