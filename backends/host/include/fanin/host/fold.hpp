// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

#include <fanin/detail/composite.hpp>
#include <fanin/detail/functor.hpp>
#include <fanin/detail/md_functor.hpp>
#include <fanin/detail/over_arrays.hpp>
#include <fanin/host/ahead.hpp>
#include <fanin/host/as_written.hpp>
#include <fanin/host/exact_in_loops.hpp>
#include <fanin/host/gather.hpp>
#include <fanin/host/in_loops.hpp>
#include <fanin/host/loops.hpp>
#include <fanin/macros.hpp>
#include <fanin/reducers.hpp>
#include <fanin/tuple.hpp>

/// How one thread of a host folds consecutive elements by the loops of fanin::host: values are gathered in blocks, in
/// rising order of the indices, and each reducer takes a block at once. Sums and products are combined in lanes (see
/// fanin/host/loops.hpp), reducers that have no loops from left to right: one order, whatever the unit.
namespace fanin::detail::host {

/// Of a composite's reducers, those that have loops are folded in them, the others as they are.
template <class R>
using in_loops_or_itself = std::conditional_t<in_loops<R>::exists, in_loops<R>, R>;

template <class R>
constexpr in_loops_or_itself<R> folded(const R& r) {
  if constexpr (in_loops<R>::exists) {
    return {};
  } else {
    return r;
  }
}

template <class... R, std::size_t... I>
constexpr composite<in_loops_or_itself<R>...> folded_of(const composite<R...>& c, std::index_sequence<I...>) {
  return detail::make_composite(host::folded(get<I>(c.reducers))...);
}

/// Whether each reducer's value_type is one that a value of f's, or its own of a tuple, converts to; where it is not,
/// composite says so in words.
template <class Value, class... R>
inline constexpr bool converts = (std::is_convertible_v<const Value&, reducer_value_t<R>> && ...);
template <class... Value, class... R>
  requires(sizeof...(R) > 1 && sizeof...(Value) == sizeof...(R))
inline constexpr bool converts<tuple<Value...>, R...> =
    (std::is_convertible_v<const Value&, reducer_value_t<R>> && ...);

/// Whether R's values are gathered in blocks.
template <class R>
inline constexpr bool takes_blocks = in_loops<R>::exists || number<reducer_value_t<R>>;

/// Whether what f gives is gathered in blocks: where it gives values, all reducers take some, and one has loops.
template <class F, class Composite>
inline constexpr bool gathers = false;
template <class F, class... R>
  requires(!takes_accumulator<F, composite<R...>>)
inline constexpr bool gathers<F, composite<R...>> =
    (in_loops<R>::exists || ...) && (takes_blocks<R> && ...) &&
    converts<std::remove_cvref_t<std::invoke_result_t<const F&, std::int64_t>>, R...>;

/// Whether one block serves all reducers.
template <class Value, class First, class... R>
inline constexpr bool share_values =
    !is_tuple_v<Value> && (std::is_same_v<reducer_value_t<First>, reducer_value_t<R>> && ...);

template <class T, std::int64_t Size>
struct block_of_values {
  T at[Size];
};

/// A block for each reducer, filled with its own value of each index.
template <class F, class... R, std::size_t... I>
void gather_apart(const F& f, const composite<R...>& c, typename composite<R...>::state_type& state, std::int64_t begin,
                  std::int64_t end, std::index_sequence<I...>) {
  using value_type = std::remove_cvref_t<std::invoke_result_t<const F&, std::int64_t>>;
  // All blocks together take up to 32 KiB of the stack.
  constexpr std::int64_t size = std::min<std::int64_t>(1024, 32768 / (std::int64_t{sizeof(reducer_value_t<R>)} + ...));
  tuple<block_of_values<reducer_value_t<R>, size>...> values;
  while (begin < end) {
    const std::int64_t n = end - begin < size ? end - begin : size;
    detail::for_stretches(f, begin, begin + n, [&](const auto& g, auto from, auto until) {
      for (auto i = from; i < until; ++i) {
        const value_type value = g(i);
        ((get<I>(values).at[i - begin] = c.template value_for<I>(value)), ...);
      }
    });
    (c.template fold_span_at<I>(state, span_batch<reducer_value_t<R>>{get<I>(values).at, n, begin}), ...);
    begin += n;
  }
}

/// By std::multiplies, for a sum of the products.
template <class F, std::floating_point T>
  requires(has_loops<T> && (std::is_same_v<F, std::multiplies<>> || std::is_same_v<F, std::multiplies<T>>))
inline constexpr bool is_dot<span_transform<F, T, T>, composite<sum<T>>> = true;
template <class F, class T>
inline constexpr bool is_dot<span_transform<F, T, T>, composite<as_written<sum<T>>>> =
    is_dot<span_transform<F, T, T>, composite<sum<T>>>;

/// Folds by `use(state, composite)`: the accumulators of what it takes in.
template <class Use, class... R>
typename composite<R...>::accumulator_type fold_by(const Use& use, const composite<R...>& c) {
  const auto in_those = host::folded_of(c, std::index_sequence_for<R...>{});
  typename composite<R...>::accumulator_type spill = in_those.identity();
  auto state = in_those.begin(spill);
  use(in_those, state);
  in_those.finish(state, spill);
  return spill;
}

/// Gathers by `use(state)` into c's own state; what that adds to an exact sum waits for its loops.
template <class Use, class... R>
typename composite<R...>::accumulator_type gather_as_it_is(const composite<R...>& c, const Use& use) {
  auto spill = c.identity();
  auto state = c.begin(spill);
  tuple<waiting_for_loops<R>...> waiting;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (get<I>(waiting).lend(get<I>(state)), ...);
    use(state);
    (get<I>(waiting).finish(get<I>(state), get<I>(spill)), ...);
  }(std::index_sequence_for<R...>{});
  c.finish(state, spill);
  return spill;
}

template <class T>
struct element_at {
  const T* data;
  const T& operator()(std::int64_t i) const { return data[i]; }
};

/// Of large arrays, by itself, so that calls over few elements are short: gather(composite, state, from, until) takes
/// their elements with these indices.
template <class Gather, class... R, class... T>
__attribute__((noinline)) typename composite<R...>::accumulator_type fold_windows(const Gather& gather,
                                                                                  const composite<R...>& c,
                                                                                  std::int64_t begin, std::int64_t end,
                                                                                  const T*... arrays) {
  return host::fold_by(
      [&](const auto& in_those, auto& state) {
        host::take_windows(
            begin, end, [&](std::int64_t from, std::int64_t until) { gather(in_those, state, from, until); },
            arrays...);
      },
      c);
}
template <class Gather, class... R, class... T>
typename composite<R...>::accumulator_type fold_arrays(const Gather& gather, const composite<R...>& c,
                                                       std::int64_t begin, std::int64_t end, const T*... arrays) {
  if constexpr (elements_of_page<T...> > 0) {
    if (host::are_asked_for(end - begin, arrays...)) return host::fold_windows(gather, c, begin, end, arrays...);
  }
  return host::fold_by([&](const auto& in_those, auto& state) { gather(in_those, state, begin, end); }, c);
}

/// The same of those that f is known to read.
template <class F, class Gather, class Composite>
typename Composite::accumulator_type fold_what_is_read(const F&, const Gather& gather, const Composite& c,
                                                       std::int64_t begin, std::int64_t end) {
  return host::fold_arrays(gather, c, begin, end);
}
template <class T, class Gather, class Composite>
typename Composite::accumulator_type fold_what_is_read(const element_at<T>& f, const Gather& gather, const Composite& c,
                                                       std::int64_t begin, std::int64_t end) {
  return host::fold_arrays(gather, c, begin, end, f.data);
}
template <class F, class... T, class Gather, class Composite>
typename Composite::accumulator_type fold_what_is_read(const span_transform<F, T...>& f, const Gather& gather,
                                                       const Composite& c, std::int64_t begin, std::int64_t end) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return host::fold_arrays(gather, c, begin, end, get<I>(f.data)...);
  }(std::index_sequence_for<T...>{});
}

/// What f gives for the indices begin .. end - 1, each of which it is called for once, in rising order.
template <class F, class... R>
typename composite<R...>::accumulator_type fold(const F& f, const composite<R...>& c, std::int64_t begin,
                                                std::int64_t end) {
  using given = composite<R...>;
  if constexpr (takes_accumulator<F, given>) {
    return host::gather_as_it_is(c, [&](auto& state) { host::gather_indices(f, c, state, begin, end); });
  } else {
    const auto gather = [&f](const auto& in_those, auto& state, std::int64_t from, std::int64_t until) {
      if constexpr (is_dot<F, given>) {
        constexpr std::size_t last = std::tuple_size_v<decltype(f.data)> - 1;
        (in_loops<R>::add_products(get<0>(state), get<0>(f.data) + from, get<last>(f.data) + from, until - from), ...);
      } else if constexpr (!gathers<F, given>) {
        host::gather_indices(f, in_those, state, from, until);
      } else if constexpr (share_values<std::remove_cvref_t<std::invoke_result_t<const F&, std::int64_t>>, R...>) {
        host::gather_in_blocks<reducer_value_t<typename given::template reducer_type<0>>>(f, in_those, state, from,
                                                                                          until);
      } else {
        host::gather_apart(f, in_those, state, from, until, std::index_sequence_for<R...>{});
      }
    };
    return host::fold_what_is_read(f, gather, c, begin, end);
  }
}

/// The elements begin .. end - 1 of an array.
template <class T, class... R>
typename composite<R...>::accumulator_type fold_span(const T* data, const composite<R...>& c, std::int64_t begin,
                                                     std::int64_t end) {
  using given = composite<R...>;
  if constexpr (gathers<element_at<T>, given> && !(std::is_same_v<reducer_value_t<R>, T> && ...)) {
    return host::fold(element_at<T>{data}, c, begin, end);  // they are converted first
  } else {
    const auto gather = [data](const auto& in_those, auto& state, std::int64_t from, std::int64_t until) {
      host::gather_array(in_those, state, span_batch<T>{data + from, until - from, from});
    };
    return host::fold_arrays(gather, c, begin, end, data);
  }
}

}  // namespace fanin::detail::host
