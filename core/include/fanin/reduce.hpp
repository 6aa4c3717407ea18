// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <cstdint>
#include <type_traits>
#include <utility>

#include <fanin/detail/array.hpp>
#include <fanin/detail/destination.hpp>
#include <fanin/detail/functor.hpp>
#include <fanin/detail/label.hpp>
#include <fanin/detail/many.hpp>
#include <fanin/detail/over_arrays.hpp>
#include <fanin/detail/strided.hpp>
#include <fanin/execution.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/pending.hpp>

namespace fanin {

/// Reduces an array or a view in the backend's memory: elements side by side, on CUDA by 16-byte loads, or in up to 6
/// dimensions with any strides, which are walked through in the order of memory unless a reducer sees indices. The
/// indices that `_loc` reducers give count from 0 in xs; of 2 dimensions and more they are an md_index, of equals the
/// lexicographically least, whatever the layout. Otherwise as parallel_reduce with f(i) = xs[i]: blocking, n == 0 gives
/// the identities' results. On CUDA the bits may depend on xs's address modulo 16. Throws invalid_argument for a null
/// xs with n > 0 and for memory that the backend cannot reach (a host pointer on CUDA), before any launch.
template <class Exec, class X, class... Reducer>
  requires execution<std::remove_cvref_t<Exec>>
detail::array_result_t<X, Reducer...> reduce(detail::call_label label, Exec&& exec, const X& xs,
                                             const Reducer&... reducers) {
  using object = std::remove_cvref_t<Exec>;
  if constexpr (detail::check_array<X>()) {
    const auto handle = detail::handle_of(std::forward<Exec>(exec));
    const auto elements = [&](const auto* data, std::int64_t count, const auto& all) {
      return backend<object>::reduce_span(handle, label.get(), data, count, all);
    };
    const auto numbers = [&](const auto& f, std::int64_t count, const auto& all) {
      return backend<object>::reduce(handle, label.get(), 0, count, f, all);
    };
    return detail::over_array<object>(handle, "fanin::reduce", elements, numbers, xs, reducers...);
  }
}

template <class Exec, class X, class... Reducer>
  requires execution<std::remove_cvref_t<Exec>>
detail::array_result_t<X, Reducer...> reduce(Exec&& exec, const X& xs, const Reducer&... reducers) {
  return fanin::reduce(nullptr, std::forward<Exec>(exec), xs, reducers...);
}

/// As reduce, written to *out in the order of the object's stream, and may return before; n == 0 writes too. `out` and
/// xs must live until the work is done; lifetime, capture and later errors as for parallel_reduce_into. Throws
/// invalid_argument for a null `out`, a null xs with n > 0, and memory that the backend cannot reach, before any
/// launch.
template <class Exec, class X, class... Reducer>
  requires(execution<std::remove_cvref_t<Exec>> && !detail::data_of_many<X>)
void reduce_into(detail::call_label label, detail::array_result_t<X, Reducer...>* out, Exec&& exec, const X& xs,
                 const Reducer&... reducers) {
  using object = std::remove_cvref_t<Exec>;
  if constexpr (detail::check_array<X>()) {
    const auto handle = detail::handle_of(std::forward<Exec>(exec));
    detail::check_destination(out, "fanin::reduce_into");
    backend<object>::check_memory(handle, out, "fanin::reduce_into: the destination");
    const auto elements = [&](const auto* data, std::int64_t count, const auto& all) {
      backend<object>::reduce_span_into(handle, label.get(), out, data, count, all);
    };
    const auto numbers = [&](const auto& f, std::int64_t count, const auto& all) {
      backend<object>::reduce_into(handle, label.get(), out, 0, count, f, all);
    };
    detail::over_array<object>(handle, "fanin::reduce_into", elements, numbers, xs, reducers...);
  }
}

template <class Exec, class X, class... Reducer>
  requires(execution<std::remove_cvref_t<Exec>> && !detail::data_of_many<X>)
void reduce_into(detail::array_result_t<X, Reducer...>* out, Exec&& exec, const X& xs, const Reducer&... reducers) {
  fanin::reduce_into(nullptr, out, std::forward<Exec>(exec), xs, reducers...);
}

/// Reduces data that give many results, axes<...>(xs), rows(xs), columns(xs) and segments(xs, offsets): to a pointer,
/// an array or a tuple of them, as parallel_reduce_into of a range of many results does. No element of the destination
/// may be one of the data's. Where there are no results nothing is written, and `out` may be null.
template <class Exec, detail::data_of_many Data, class... Reducer>
  requires execution<std::remove_cvref_t<Exec>>
void reduce_into(detail::call_label label, detail::one_of_data_t<Data, Reducer...>* out, Exec&& exec, const Data& data,
                 const Reducer&... reducers) {
  using object = std::remove_cvref_t<Exec>;
  const auto handle = detail::handle_of(std::forward<Exec>(exec));
  detail::over_data_of_many<object>(handle, out, "fanin::reduce_into", detail::many_into<object>{handle, label.get()},
                                    data, reducers...);
}
template <class Exec, detail::data_of_many Data, class... Reducer>
  requires execution<std::remove_cvref_t<Exec>>
void reduce_into(detail::one_of_data_t<Data, Reducer...>* out, Exec&& exec, const Data& data,
                 const Reducer&... reducers) {
  fanin::reduce_into(nullptr, out, std::forward<Exec>(exec), data, reducers...);
}
template <class Out, class Exec, detail::data_of_many Data, class... Reducer>
  requires(execution<std::remove_cvref_t<Exec>> && detail::destination_of_many<std::remove_cvref_t<Out>>)
void reduce_into(detail::call_label label, Out&& out, Exec&& exec, const Data& data, const Reducer&... reducers) {
  detail::refuse_temporary<Out>();
  using object = std::remove_cvref_t<Exec>;
  const auto handle = detail::handle_of(std::forward<Exec>(exec));
  detail::over_data_of_many<object>(handle, out, "fanin::reduce_into", detail::many_into<object>{handle, label.get()},
                                    data, reducers...);
}
template <class Out, class Exec, detail::data_of_many Data, class... Reducer>
  requires(execution<std::remove_cvref_t<Exec>> && detail::destination_of_many<std::remove_cvref_t<Out>>)
void reduce_into(Out&& out, Exec&& exec, const Data& data, const Reducer&... reducers) {
  fanin::reduce_into(nullptr, std::forward<Out>(out), std::forward<Exec>(exec), data, reducers...);
}

/// As reduce, with the same bits, but returns a fanin::pending before the value is there: see parallel_reduce_async. xs
/// must live until get() has returned, or the work is done.
template <class Exec, class X, class... Reducer>
  requires execution<std::remove_cvref_t<Exec>>
[[nodiscard]] detail::pending_t<detail::array_result_t<X, Reducer...>> reduce_async(detail::call_label label,
                                                                                    Exec&& exec, const X& xs,
                                                                                    const Reducer&... reducers) {
  using object = std::remove_cvref_t<Exec>;
  if constexpr (detail::check_array<X>()) {
    const auto handle = detail::handle_of(std::forward<Exec>(exec));
    const auto elements = [&](const auto* data, std::int64_t count, const auto& all) {
      return backend<object>::reduce_span_async(handle, label.get(), data, count, all);
    };
    const auto numbers = [&](const auto& f, std::int64_t count, const auto& all) {
      return backend<object>::reduce_async(handle, label.get(), 0, count, f, all);
    };
    return detail::over_array<object>(handle, "fanin::reduce_async", elements, numbers, xs, reducers...);
  }
}

template <class Exec, class X, class... Reducer>
  requires execution<std::remove_cvref_t<Exec>>
[[nodiscard]] detail::pending_t<detail::array_result_t<X, Reducer...>> reduce_async(Exec&& exec, const X& xs,
                                                                                    const Reducer&... reducers) {
  return fanin::reduce_async(nullptr, std::forward<Exec>(exec), xs, reducers...);
}

/// The same of data that give many results, into what reduce_into writes them to: a pending<void>, as
/// parallel_reduce_async gives of a range of many results. xs, offsets and `out` must live until get() has returned, or
/// the work is done.
template <class Exec, detail::data_of_many Data, class... Reducer>
  requires execution<std::remove_cvref_t<Exec>>
[[nodiscard]] pending<void> reduce_async(detail::call_label label, detail::one_of_data_t<Data, Reducer...>* out,
                                         Exec&& exec, const Data& data, const Reducer&... reducers) {
  using object = std::remove_cvref_t<Exec>;
  const auto handle = detail::handle_of(std::forward<Exec>(exec));
  pending<void> made = detail::pending_of_nothing();
  detail::over_data_of_many<object>(handle, out, "fanin::reduce_async",
                                    detail::many_later<object>{handle, label.get(), made}, data, reducers...);
  return made;
}
template <class Exec, detail::data_of_many Data, class... Reducer>
  requires execution<std::remove_cvref_t<Exec>>
[[nodiscard]] pending<void> reduce_async(detail::one_of_data_t<Data, Reducer...>* out, Exec&& exec, const Data& data,
                                         const Reducer&... reducers) {
  return fanin::reduce_async(nullptr, out, std::forward<Exec>(exec), data, reducers...);
}
template <class Out, class Exec, detail::data_of_many Data, class... Reducer>
  requires(execution<std::remove_cvref_t<Exec>> && detail::destination_of_many<std::remove_cvref_t<Out>>)
[[nodiscard]] pending<void> reduce_async(detail::call_label label, Out&& out, Exec&& exec, const Data& data,
                                         const Reducer&... reducers) {
  detail::refuse_temporary<Out>();
  using object = std::remove_cvref_t<Exec>;
  const auto handle = detail::handle_of(std::forward<Exec>(exec));
  pending<void> made = detail::pending_of_nothing();
  detail::over_data_of_many<object>(handle, out, "fanin::reduce_async",
                                    detail::many_later<object>{handle, label.get(), made}, data, reducers...);
  return made;
}
template <class Out, class Exec, detail::data_of_many Data, class... Reducer>
  requires(execution<std::remove_cvref_t<Exec>> && detail::destination_of_many<std::remove_cvref_t<Out>>)
[[nodiscard]] pending<void> reduce_async(Out&& out, Exec&& exec, const Data& data, const Reducer&... reducers) {
  return fanin::reduce_async(nullptr, std::forward<Out>(out), std::forward<Exec>(exec), data, reducers...);
}

/// transform_reduce([label,] exec, xs, f, reducers...), and with xs, ys and xs, ys, zs: reduces f(x) over one array,
/// f(x, y) over two, f(x, y, z) over three of the same length, or shape; elements of one index meet, however each array
/// is laid out. Blocking; n == 0 gives the
/// identities' results; indices of `_loc` reducers count from 0. On CUDA by 16-byte loads where the elements of all
/// arrays have one size and the addresses are equal modulo 16, so that the bits may depend on that; otherwise the same
/// bits from run to run as for parallel_reduce. Throws invalid_argument when the lengths differ, and as reduce does.
template <class Exec, class... Argument>
  requires execution<std::remove_cvref_t<Exec>>
detail::transform_result_t<Argument...> transform_reduce(detail::call_label label, Exec&& exec,
                                                         const Argument&... arrays_f_reducers) {
  const auto run = [&]<class F, class Composite>(const auto& handle, std::int64_t count, const F& f,
                                                 const Composite& all) {
    if constexpr (Composite::template check_functor<F>()) {
      return backend<std::remove_cvref_t<Exec>>::reduce(handle, label.get(), 0, count, f, all);
    }
  };
  return detail::take_transform("fanin::transform_reduce", std::forward<Exec>(exec), run, arrays_f_reducers...);
}

template <class Exec, class... Argument>
  requires execution<std::remove_cvref_t<Exec>>
detail::transform_result_t<Argument...> transform_reduce(Exec&& exec, const Argument&... arrays_f_reducers) {
  return fanin::transform_reduce(nullptr, std::forward<Exec>(exec), arrays_f_reducers...);
}

/// As transform_reduce, written to *out in the order of the object's stream: see reduce_into.
template <class Exec, class... Argument>
  requires execution<std::remove_cvref_t<Exec>>
void transform_reduce_into(detail::call_label label, detail::transform_result_t<Argument...>* out, Exec&& exec,
                           const Argument&... arrays_f_reducers) {
  detail::check_destination(out, "fanin::transform_reduce_into");
  const auto run = [&]<class F, class Composite>(const auto& handle, std::int64_t count, const F& f,
                                                 const Composite& all) {
    if constexpr (Composite::template check_functor<F>()) {
      backend<std::remove_cvref_t<Exec>>::check_memory(handle, out, "fanin::transform_reduce_into: the destination");
      backend<std::remove_cvref_t<Exec>>::reduce_into(handle, label.get(), out, 0, count, f, all);
    }
  };
  detail::take_transform("fanin::transform_reduce_into", std::forward<Exec>(exec), run, arrays_f_reducers...);
}

template <class Exec, class... Argument>
  requires execution<std::remove_cvref_t<Exec>>
void transform_reduce_into(detail::transform_result_t<Argument...>* out, Exec&& exec,
                           const Argument&... arrays_f_reducers) {
  fanin::transform_reduce_into(nullptr, out, std::forward<Exec>(exec), arrays_f_reducers...);
}

/// As transform_reduce, with the same bits, but returns a fanin::pending before the value is there: see
/// parallel_reduce_async. The arrays must live until get() has returned, or the work is done.
template <class Exec, class... Argument>
  requires execution<std::remove_cvref_t<Exec>>
[[nodiscard]] detail::pending_t<detail::transform_result_t<Argument...>> transform_reduce_async(
    detail::call_label label, Exec&& exec, const Argument&... arrays_f_reducers) {
  const auto run = [&]<class F, class Composite>(const auto& handle, std::int64_t count, const F& f,
                                                 const Composite& all) {
    if constexpr (Composite::template check_functor<F>()) {
      return backend<std::remove_cvref_t<Exec>>::reduce_async(handle, label.get(), 0, count, f, all);
    }
  };
  return detail::take_transform("fanin::transform_reduce_async", std::forward<Exec>(exec), run, arrays_f_reducers...);
}

template <class Exec, class... Argument>
  requires execution<std::remove_cvref_t<Exec>>
[[nodiscard]] detail::pending_t<detail::transform_result_t<Argument...>> transform_reduce_async(
    Exec&& exec, const Argument&... arrays_f_reducers) {
  return fanin::transform_reduce_async(nullptr, std::forward<Exec>(exec), arrays_f_reducers...);
}

/// What fits none of these is refused in words: any other overload is the better one.
template <class Call = void>
auto reduce(...) {
  static_assert(detail::dependent_false<Call>,
                "fanin: reduce takes [a label,] [an execution object,] an array (of a pointer, std::span(pointer, "
                "n)) and reducers: reduce(xs, fanin::sum<double>{})");
}
template <class Call = void>
auto reduce_into(...) {
  static_assert(detail::dependent_false<Call>,
                "fanin: reduce_into takes [a label,] a pointer to what the reducers give (a double* for "
                "fanin::sum<double>{}), [an execution object,] an array (of a pointer, std::span(pointer, n)) and "
                "reducers: reduce_into(out, xs, fanin::sum<double>{})");
}
template <class Call = void>
auto reduce_async(...) {
  static_assert(detail::dependent_false<Call>,
                "fanin: reduce_async takes [a label,] [an execution object,] an array (of a pointer, "
                "std::span(pointer, n)) and reducers: reduce_async(xs, fanin::sum<double>{}); for many results first "
                "where they go: reduce_async(out, fanin::rows(xs), fanin::sum<double>{})");
}
template <class Call = void>
auto transform_reduce(...) {
  static_assert(detail::dependent_false<Call>,
                "fanin: transform_reduce takes [a label,] [an execution object,] up to three arrays (of a pointer, "
                "std::span(pointer, n)), a functor and reducers: transform_reduce(xs, f, fanin::sum<double>{})");
}
template <class Call = void>
auto transform_reduce_into(...) {
  static_assert(detail::dependent_false<Call>,
                "fanin: transform_reduce_into takes [a label,] a pointer to what the reducers give (a double* for "
                "fanin::sum<double>{}), [an execution object,] up to three arrays (of a pointer, "
                "std::span(pointer, n)), a functor and reducers: transform_reduce_into(out, xs, f, "
                "fanin::sum<double>{})");
}
template <class Call = void>
auto transform_reduce_async(...) {
  static_assert(detail::dependent_false<Call>,
                "fanin: transform_reduce_async takes [a label,] [an execution object,] up to three arrays (of a "
                "pointer, std::span(pointer, n)), a functor and reducers: transform_reduce_async(xs, f, "
                "fanin::sum<double>{})");
}

}  // namespace fanin
