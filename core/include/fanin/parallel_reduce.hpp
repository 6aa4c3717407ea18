// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <cstdint>
#include <string>
#include <type_traits>

#include <fanin/detail/composite.hpp>
#include <fanin/detail/finished_composite.hpp>
#include <fanin/detail/functor.hpp>
#include <fanin/detail/label.hpp>
#include <fanin/error.hpp>
#include <fanin/pending.hpp>
#include <fanin/range.hpp>

namespace fanin {

namespace detail {

template <class Result>
void check_destination(const Result* out, const char* call) {
  if (out == nullptr) {
    throw invalid_argument(std::string(call) + ": the destination is null; give memory of the backend for one result");
  }
  if (reinterpret_cast<std::uintptr_t>(out) % alignof(Result) != 0) {
    throw invalid_argument(std::string(call) + ": the destination's address is no multiple of its type's alignment, " +
                           std::to_string(alignof(Result)) + " bytes");
  }
}

}  // namespace detail

/// Reduces f over a range with one or several reducers in one pass, and returns the result (several: a fanin::tuple).
///
/// f is f(i), a value for every reducer or a fanin::tuple with one each, or f(i, acc&...), which combines by itself.
/// Indices are std::int64_t and come in no stated order. n == 0 gives the identities' results. Blocks until the value
/// is there, waiting for this object's own stream only; the kernel may end later. What f writes beside its value is
/// there for later calls on the object, and for the host after the object's synchronize(). The same bits from run to
/// run for the same object, tuning, device and thread count. f and what it captures are copied; memory it points to
/// must live until the return (what it writes to, until synchronize()) and be reachable from the backend (not
/// checkable: on CUDA a fault there throws, and the context is lost). Throws: invalid_argument, state_error, and the
/// backend's own errors, before or instead of a result.
template <class Exec, class F, class... Reducer>
detail::result_t<Reducer...> parallel_reduce(detail::call_label label, const range_policy<Exec>& range, const F& f,
                                             const Reducer&... reducers) {
  const auto all = detail::make_composite(reducers...);
  all.template check_functor<F>();
  return backend<Exec>::reduce(range.handle(), label.get(), range.first(), range.size(), f, all);
}

/// The same without a label (labels name the call for profilers: an NVTX range on CUDA, Kokkos's own on Kokkos).
template <class Exec, class F, class... Reducer>
detail::result_t<Reducer...> parallel_reduce(const range_policy<Exec>& range, const F& f, const Reducer&... reducers) {
  return parallel_reduce(nullptr, range, f, reducers...);
}

/// As parallel_reduce, but writes the result to *out, memory that the backend reaches (a device pointer on CUDA), in
/// the order of the object's stream, and may return before. What stood at *out is overwritten, never read; n == 0
/// writes too. Capturable into a CUDA graph, of which no two executables, nor two copies as child nodes, may run at
/// once (they share a node's workspace: docs/adr/0006). `out` and what f points to must live until the work is done;
/// errors that arise later come from the object's synchronize(). Throws invalid_argument for a null `out` or one the
/// backend cannot reach.
template <class Exec, class F, class... Reducer>
void parallel_reduce_into(detail::call_label label, detail::result_t<Reducer...>* out, const range_policy<Exec>& range,
                          const F& f, const Reducer&... reducers) {
  const auto all = detail::make_composite(reducers...);
  all.template check_functor<F>();
  detail::check_destination(out, "fanin::parallel_reduce_into");
  backend<Exec>::check_memory(range.handle(), out, "fanin::parallel_reduce_into: the destination");
  backend<Exec>::reduce_into(range.handle(), label.get(), out, range.first(), range.size(), f, all);
}

template <class Exec, class F, class... Reducer>
void parallel_reduce_into(detail::result_t<Reducer...>* out, const range_policy<Exec>& range, const F& f,
                          const Reducer&... reducers) {
  parallel_reduce_into(nullptr, out, range, f, reducers...);
}

/// As parallel_reduce, with the same bits, but returns a fanin::pending before the value is there, whose get() waits
/// for it. On CUDA that wait is for this value alone: the stream goes on, and any number may be outstanding on an
/// object. (serial and Kokkos's host spaces are done when the call returns; on Kokkos::Cuda get() waits for an event
/// behind the value, on other devices of Kokkos's the call waits, since Kokkos tells of no value that it has come.)
/// n == 0 gives the identities' results. f and what it captures are copied; memory it points to must live until get()
/// has returned, or the work is done (what it writes to, until synchronize()). No allocation but where more are
/// outstanding than before. Throws as parallel_reduce does before a launch, state_error on a stream that is being
/// captured; what goes wrong later, and what f throws on serial, comes from get().
template <class Exec, class F, class... Reducer>
detail::pending_t<detail::result_t<Reducer...>> parallel_reduce_async(detail::call_label label,
                                                                      const range_policy<Exec>& range, const F& f,
                                                                      const Reducer&... reducers) {
  const auto all = detail::make_composite(reducers...);
  all.template check_functor<F>();
  return backend<Exec>::reduce_async(range.handle(), label.get(), range.first(), range.size(), f, all);
}

template <class Exec, class F, class... Reducer>
detail::pending_t<detail::result_t<Reducer...>> parallel_reduce_async(const range_policy<Exec>& range, const F& f,
                                                                      const Reducer&... reducers) {
  return parallel_reduce_async(nullptr, range, f, reducers...);
}

/// Calls f(i) once for every index, in no stated order and possibly concurrently; n == 0 calls nothing. In the order
/// of the object's stream; may return before it is done. Later calls on the object come after it; the host reads what f
/// wrote after synchronize().
template <class Exec, class F>
void parallel_for(detail::call_label label, const range_policy<Exec>& range, const F& f) {
  detail::check_for_functor<F>();
  if (range.size() > 0) backend<Exec>::parallel_for(range.handle(), label.get(), range.first(), range.size(), f);
}

template <class Exec, class F>
void parallel_for(const range_policy<Exec>& range, const F& f) {
  parallel_for(nullptr, range, f);
}

}  // namespace fanin
