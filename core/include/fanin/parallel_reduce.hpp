// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <fanin/detail/composite.hpp>
#include <fanin/detail/destination.hpp>
#include <fanin/detail/finished_composite.hpp>
#include <fanin/detail/functor.hpp>
#include <fanin/detail/label.hpp>
#include <fanin/detail/many.hpp>
#include <fanin/detail/over.hpp>
#include <fanin/error.hpp>
#include <fanin/pending.hpp>
#include <fanin/range.hpp>

namespace fanin {

/// Reduces f over a range with one or several reducers in one pass, and returns the result (several: a fanin::tuple).
///
/// The range is fanin::range or fanin::md_range. f is f(i), a value for every reducer or a fanin::tuple with one each,
/// or f(i, acc&...), which combines by itself; over an md_range f(i, j, ...) and f(i, j, ..., acc&...), the latter for
/// reducers that tell no place. Indices are std::int64_t and come in no stated order. n == 0 gives the identities'
/// results. Blocks until the value is there, waiting for this object's own stream only; the kernel may end later. What
/// f writes beside its value is there for later calls on the object, and for the host after the object's synchronize().
/// The same bits from run to run for the same object, tuning, device and thread count. f and what it captures are
/// copied; memory it points to must live until the return (what it writes to, until synchronize()) and be reachable
/// from the backend (not checkable: on CUDA a fault there throws, and the context is lost). Throws: invalid_argument,
/// state_error, and the backend's own errors, before or instead of a result.
template <detail::index_range Range, class F, class... Reducer>
detail::result_over_t<Range, Reducer...> parallel_reduce(detail::call_label label, const Range& range, const F& f,
                                                         const Reducer&... reducers) {
  using over = detail::over<Range>;
  const auto all = over::composite_of(range, reducers...);
  if constexpr (over::template check_functor<F, decltype(all)>()) {
    return detail::backend_of<Range>::reduce(range.handle(), label.get(), over::first(range), range.size(),
                                             over::functor(range, f), all);
  }
}

/// The same without a label (labels name the call for profilers: an NVTX range on CUDA, Kokkos's own on Kokkos).
template <detail::index_range Range, class F, class... Reducer>
detail::result_over_t<Range, Reducer...> parallel_reduce(const Range& range, const F& f, const Reducer&... reducers) {
  return fanin::parallel_reduce(nullptr, range, f, reducers...);
}

/// As parallel_reduce, but writes the result to *out, memory that the backend reaches (a device pointer on CUDA), in
/// the order of the object's stream, and may return before. What stood at *out is overwritten, never read; n == 0
/// writes too. Capturable into a CUDA graph, of which no two executables, nor two copies as child nodes, may run at
/// once (they share a node's workspace: docs/adr/0006). `out` and what f points to must live until the work is done;
/// errors that arise later come from the object's synchronize(). Throws invalid_argument for a null `out` or one the
/// backend cannot reach.
template <detail::index_range Range, class F, class... Reducer>
void parallel_reduce_into(detail::call_label label, detail::result_over_t<Range, Reducer...>* out, const Range& range,
                          const F& f, const Reducer&... reducers) {
  using over = detail::over<Range>;
  const auto all = over::composite_of(range, reducers...);
  if constexpr (over::template check_functor<F, decltype(all)>()) {
    detail::check_destination(out, "fanin::parallel_reduce_into");
    detail::backend_of<Range>::check_memory(range.handle(), out, "fanin::parallel_reduce_into: the destination");
    detail::backend_of<Range>::reduce_into(range.handle(), label.get(), out, over::first(range), range.size(),
                                           over::functor(range, f), all);
  }
}

template <detail::index_range Range, class F, class... Reducer>
void parallel_reduce_into(detail::result_over_t<Range, Reducer...>* out, const Range& range, const F& f,
                          const Reducer&... reducers) {
  fanin::parallel_reduce_into(nullptr, out, range, f, reducers...);
}

namespace detail {

/// Goes over a range of many results by reduce(put, rows, composite), if there are any, into a pointer, an array or a
/// tuple of them.
template <class Range, class Out, class Reduce, class F, class... Reducer>
void over_many(const Range& range, Out& out, const char* call, const Reduce& reduce, const F& f,
               const Reducer&... reducers) {
  using many = many_over<Range>;
  using result = one_of_many_t<Range, Reducer...>;
  const auto all = many::composite_of(range, reducers...);
  if constexpr (many::template check_functor<F, decltype(all)>()) {
    const auto extents = many::left_extents(range);
    constexpr std::size_t rank = std::tuple_size_v<std::remove_const_t<decltype(extents)>>;
    if constexpr (detail::check_destination_type<Out, result, rank>()) {
      detail::with_destination<typename many::execution_type, result, many::order>(
          range.handle(), out, extents, range.results(), call,
          [&](const auto& put) { reduce(put, many::functor(range, f), all); });
    }
  }
}
template <class Range>
using execution_of_many = typename many_over<Range>::execution_type;

}  // namespace detail

/// The same for a range of many results (fanin::rows, columns, axes<...>, segments): out[k] is that of the k-th row of
/// the range, and out has room for all of them. It may not lie in memory that f reads. Where there are no results,
/// nothing is written, and out may be null.
template <detail::range_of_many Range, class F, class... Reducer>
void parallel_reduce_into(detail::call_label label, detail::one_of_many_t<Range, Reducer...>* out, const Range& range,
                          const F& f, const Reducer&... reducers) {
  detail::over_many(range, out, "fanin::parallel_reduce_into",
                    detail::many_into<detail::execution_of_many<Range>>{range.handle(), label.get()}, f, reducers...);
}

template <detail::range_of_many Range, class F, class... Reducer>
void parallel_reduce_into(detail::one_of_many_t<Range, Reducer...>* out, const Range& range, const F& f,
                          const Reducer&... reducers) {
  fanin::parallel_reduce_into(nullptr, out, range, f, reducers...);
}

/// The same into an array of the rank and the extents that are left: a span, a container or a buffer for one index, a
/// fanin::view, a Kokkos::View or what is shaped like mdspan for any number, of any layout; the result of an index
/// stands at that index. For several results (of several reducers, or a fanin::tuple that finished(g, ...) gives) also
/// a tuple, fanin's or std's, with one such array or pointer for each: std::tie(sums, maxima). Throws invalid_argument
/// for other extents, elements that lie on each other, memory that the backend cannot reach, and misaligned elements,
/// before anything runs.
template <detail::range_of_many Range, class Out, class F, class... Reducer>
  requires(detail::destination_of_many<std::remove_cvref_t<Out>>)
void parallel_reduce_into(detail::call_label label, Out&& out, const Range& range, const F& f,
                          const Reducer&... reducers) {
  detail::refuse_temporary<Out>();
  detail::over_many(range, out, "fanin::parallel_reduce_into",
                    detail::many_into<detail::execution_of_many<Range>>{range.handle(), label.get()}, f, reducers...);
}

template <detail::range_of_many Range, class Out, class F, class... Reducer>
  requires(detail::destination_of_many<std::remove_cvref_t<Out>>)
void parallel_reduce_into(Out&& out, const Range& range, const F& f, const Reducer&... reducers) {
  fanin::parallel_reduce_into(nullptr, std::forward<Out>(out), range, f, reducers...);
}

/// As parallel_reduce, with the same bits, but returns a fanin::pending before the value is there, whose get() waits
/// for it. On CUDA that wait is for this value alone: the stream goes on, and any number may be outstanding on an
/// object. (serial and Kokkos's host spaces are done when the call returns; on Kokkos::Cuda get() waits for an event
/// behind the value, on other devices of Kokkos's the call waits, since Kokkos tells of no value that it has come.)
/// n == 0 gives the identities' results. f and what it captures are copied; memory it points to must live until get()
/// has returned, or the work is done (what it writes to, until synchronize()). No allocation but where more are
/// outstanding than before. Throws as parallel_reduce does before a launch, state_error on a stream that is being
/// captured; what goes wrong later, and what f throws on serial, comes from get().
template <detail::index_range Range, class F, class... Reducer>
[[nodiscard]] detail::pending_t<detail::result_over_t<Range, Reducer...>> parallel_reduce_async(
    detail::call_label label, const Range& range, const F& f, const Reducer&... reducers) {
  using over = detail::over<Range>;
  const auto all = over::composite_of(range, reducers...);
  if constexpr (over::template check_functor<F, decltype(all)>()) {
    return detail::backend_of<Range>::reduce_async(range.handle(), label.get(), over::first(range), range.size(),
                                                   over::functor(range, f), all);
  }
}

template <detail::index_range Range, class F, class... Reducer>
[[nodiscard]] detail::pending_t<detail::result_over_t<Range, Reducer...>> parallel_reduce_async(
    const Range& range, const F& f, const Reducer&... reducers) {
  return fanin::parallel_reduce_async(nullptr, range, f, reducers...);
}

/// The same for a range of many results, into what parallel_reduce_into writes them to, with the same bits: get()
/// returns nothing, when all of them stand at the destination, which the host may read then where it reaches that
/// memory, and everything that f wrote. Where there are no results it is ready at once, and only extents are looked at.
/// `out` lives as what f points to.
template <detail::range_of_many Range, class F, class... Reducer>
[[nodiscard]] pending<void> parallel_reduce_async(detail::call_label label,
                                                  detail::one_of_many_t<Range, Reducer...>* out, const Range& range,
                                                  const F& f, const Reducer&... reducers) {
  pending<void> made = detail::pending_of_nothing();
  detail::over_many(range, out, "fanin::parallel_reduce_async",
                    detail::many_later<detail::execution_of_many<Range>>{range.handle(), label.get(), made}, f,
                    reducers...);
  return made;
}
template <detail::range_of_many Range, class F, class... Reducer>
[[nodiscard]] pending<void> parallel_reduce_async(detail::one_of_many_t<Range, Reducer...>* out, const Range& range,
                                                  const F& f, const Reducer&... reducers) {
  return fanin::parallel_reduce_async(nullptr, out, range, f, reducers...);
}
template <detail::range_of_many Range, class Out, class F, class... Reducer>
  requires(detail::destination_of_many<std::remove_cvref_t<Out>>)
[[nodiscard]] pending<void> parallel_reduce_async(detail::call_label label, Out&& out, const Range& range, const F& f,
                                                  const Reducer&... reducers) {
  detail::refuse_temporary<Out>();
  pending<void> made = detail::pending_of_nothing();
  detail::over_many(range, out, "fanin::parallel_reduce_async",
                    detail::many_later<detail::execution_of_many<Range>>{range.handle(), label.get(), made}, f,
                    reducers...);
  return made;
}
template <detail::range_of_many Range, class Out, class F, class... Reducer>
  requires(detail::destination_of_many<std::remove_cvref_t<Out>>)
[[nodiscard]] pending<void> parallel_reduce_async(Out&& out, const Range& range, const F& f,
                                                  const Reducer&... reducers) {
  return fanin::parallel_reduce_async(nullptr, std::forward<Out>(out), range, f, reducers...);
}

/// Calls f(i), over an md_range f(i, j, ...), once for every index, in no stated order and possibly concurrently; n ==
/// 0 calls nothing. In the order of the object's stream; may return before it is done. Later calls on the object come
/// after it; the host reads what f wrote after synchronize().
template <detail::index_range Range, class F>
void parallel_for(detail::call_label label, const Range& range, const F& f) {
  using over = detail::over<Range>;
  if constexpr (over::template check_for_functor<F>()) {
    if (range.size() > 0) {
      detail::backend_of<Range>::parallel_for(range.handle(), label.get(), over::first(range), range.size(),
                                              over::functor(range, f));
    }
  }
}

template <detail::index_range Range, class F>
void parallel_for(const Range& range, const F& f) {
  fanin::parallel_for(nullptr, range, f);
}

/// Many results have a destination.
template <detail::range_of_many Range, class... Others>
void parallel_reduce(detail::call_label, const Range&, const Others&...) {
  static_assert(detail::dependent_false<Range>,
                "fanin: rows, columns, axes<...> and segments give many results: parallel_reduce_into(out, range, f, "
                "reducers...)");
}
template <detail::range_of_many Range, class... Others>
void parallel_reduce(const Range& range, const Others&... others) {
  fanin::parallel_reduce(nullptr, range, others...);
}
template <detail::range_of_many Range, class... Others>
void parallel_reduce_async(detail::call_label, const Range&, const Others&...) {
  static_assert(detail::dependent_false<Range>,
                "fanin: rows, columns, axes<...> and segments give many results: parallel_reduce_async(out, range, f, "
                "reducers...)");
}
template <detail::range_of_many Range, class... Others>
void parallel_reduce_async(const Range& range, const Others&... others) {
  fanin::parallel_reduce_async(detail::call_label(nullptr), range, others...);
}

/// What fits none of these is refused in words: any other overload is the better one.
template <class Call = void>
auto parallel_reduce(...) {
  static_assert(detail::dependent_false<Call>,
                "fanin: parallel_reduce takes [a label,] a range, a functor and reducers, all as objects: "
                "parallel_reduce(fanin::range(n), f, fanin::sum<double>{})");
}
template <class Call = void>
auto parallel_reduce_into(...) {
  static_assert(detail::dependent_false<Call>,
                "fanin: parallel_reduce_into takes [a label,] a pointer to what the reducers give (a double* for "
                "fanin::sum<double>{}), a range, a functor and reducers: "
                "parallel_reduce_into(out, fanin::range(n), f, fanin::sum<double>{})");
}
template <class Call = void>
auto parallel_reduce_async(...) {
  static_assert(detail::dependent_false<Call>,
                "fanin: parallel_reduce_async takes [a label,] a range, a functor and reducers, all as objects: "
                "parallel_reduce_async(fanin::range(n), f, fanin::sum<double>{}); for many results, before the range, "
                "where they go: parallel_reduce_async(out, fanin::rows(n, m), f, fanin::sum<double>{})");
}
template <class Call = void>
auto parallel_for(...) {
  static_assert(detail::dependent_false<Call>,
                "fanin: parallel_for takes [a label,] a range and a functor: parallel_for(fanin::range(n), f)");
}

}  // namespace fanin
