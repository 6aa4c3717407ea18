// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace fanin {

/// What a backend gives for its execution object Exec (fanin::serial, fanin::kokkos<Space>, fanin::cuda, or a view of
/// one of them with a strategy). The front ends in parallel_reduce.hpp, reduce.hpp and buffer.hpp check arguments,
/// build the composite of reducers and call these static members; nothing else is asked of a backend:
///
///   handle_type                     copyable; refers to or is the object
///   name                            "serial", "kokkos", "cuda"
///   handle(Exec&)                   -> handle_type
///   default_object()                -> Exec&, one per host thread (and device), made at first use
///   reduce(handle, label, first, count, f, composite)            -> result; blocks
///   reduce_into(handle, label, out, first, count, f, composite)  written in the object's order; may return at once
///   reduce_async(handle, label, first, count, f, composite)      -> pending<result>; may return at once
///   reduce_span(handle, label, data, count, composite)           -> result; blocks
///   reduce_span_into(handle, label, out, data, count, composite)
///   reduce_span_async(handle, label, data, count, composite)     -> pending<result>
///   reduce_many_into(handle, label, put, rows, composite)        put.put(row, result) for each row of `rows`, a
///                                   functor as detail/axes_functor.hpp has them; in the object's order
///   reduce_many_async(handle, label, put, rows, composite)       the same -> pending<void>, of all of them: what of it
///                                   may fail or be refused before it runs does so in the call
///   prepare_segments(handle, offsets, results)                   -> what calls over the same segments go by, copyable;
///                                   rows have its view(), as detail/segments_functor.hpp says. Offsets have been
///                                   checked. May block
///   reduce_runs(handle, label, put, runs, composite)             -> how many runs there are; blocks for that. Those
///                                   that fit go to put.keys and put.results, as detail/runs_functor.hpp has them
///   reduce_runs_async(handle, label, put, runs, composite)       the same -> pending<std::int64_t>, of that and of all
///                                   that goes there
///   reduce_runs_into(handle, label, count, put, runs, composite) the same, in the object's order; that to *count
///   parallel_for(handle, label, first, count, f)                 may return at once
///   synchronize(handle)                                          waits for all of the above; throws what went wrong
///   check_memory(handle, pointer, what)      throws invalid_argument if the backend cannot reach the memory
///   allocate(handle, bytes)
///   memory_type                     what a buffer keeps of the object: copyable, and may outlive it
///   memory(handle)                  -> memory_type
///   deallocate(memory, pointer, bytes)       waits for the object's work, if there still is one; throws nothing
///   copy_to_host(memory, to, from, bytes), copy_from_host(memory, to, from, bytes)   block, after the object's work
///
/// and, where its memory is not the host's (detail::is_host_backend), for calls over ranks that hosts exchange:
///
///   is_capturing(handle, call)      whether the object's work is being recorded, so that no call may wait for it
///   finish_aside<Composite>(handle) what finished(g, ...) runs on the device by, when the host has the accumulators of
///                                   all ranks: gives g's result of (composite, accumulators), waits for no later work
///                                   of the object's, and may outlive it. Throws state_error where that is captured
///   for_aside<Composite>(handle)    likewise of many results: called with (count, f) calls f(i) for each of so many;
///                                   check() throws state_error where it cannot be
///   shared_room(handle, bytes)      -> shared_ptr<void>, of memory of the host that the device reaches, too; it may
///                                   outlive the object, which uses it again
///
/// `label` is a null-terminated string or null. Functors and composites have been checked; count >= 0; count > 0
/// implies data is not null.
template <class Exec>
struct backend;

/// An execution object, or a view of one: something that has a backend.
template <class Exec>
concept execution = requires(Exec& exec) {
  typename backend<Exec>::handle_type;
  { backend<Exec>::handle(exec) } -> std::same_as<typename backend<Exec>::handle_type>;
};

namespace detail {

/// Whether a backend's memory is the host's, and its blocking calls leave results and what functors throw there.
template <class Exec>
inline constexpr bool is_host_backend = false;

template <class T>
inline constexpr bool dependent_false = false;

/// Calls that keep a reference to the object refuse a temporary; value-like handles may come from one.
template <class Exec>
constexpr auto handle_of(Exec&& exec) {
  using object = std::remove_cvref_t<Exec>;
  static_assert(execution<object>,
                "fanin: this is no execution object: use fanin::serial, fanin::kokkos<Space> or "
                "fanin::cuda, and include <fanin/fanin.hpp>");
  constexpr bool is_value = std::is_same_v<typename backend<object>::handle_type, object>;
  static_assert(is_value || !std::is_rvalue_reference_v<Exec&&>,
                "fanin: the execution object is a temporary that the call would outlive: name it");
  if constexpr (is_value) {
    return object{exec};
  } else {
    return backend<object>::handle(exec);
  }
}

}  // namespace detail

}  // namespace fanin
