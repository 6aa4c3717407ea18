// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <fanin/macros.hpp>

namespace fanin {

namespace detail {

template <std::size_t I, class T>
struct tuple_leaf {
  T value;
  friend bool operator==(const tuple_leaf&, const tuple_leaf&) = default;
};

template <class Indices, class... Ts>
struct tuple_leaves;

template <std::size_t... I, class... Ts>
struct tuple_leaves<std::index_sequence<I...>, Ts...> : tuple_leaf<I, Ts>... {
  friend bool operator==(const tuple_leaves&, const tuple_leaves&) = default;
};

template <std::size_t I, class T>
FANIN_FUNCTION constexpr T& leaf_value(tuple_leaf<I, T>& leaf) noexcept {
  return leaf.value;
}

template <std::size_t I, class T>
FANIN_FUNCTION constexpr const T& leaf_value(const tuple_leaf<I, T>& leaf) noexcept {
  return leaf.value;
}

}  // namespace detail

/// What several reducers give in one pass. An aggregate that is trivially copyable when its elements are (std::tuple is
/// not), so that it can be written by a kernel and copied as bytes; has structured bindings, get<I> and ==.
template <class... Ts>
struct tuple : detail::tuple_leaves<std::index_sequence_for<Ts...>, Ts...> {
  friend bool operator==(const tuple&, const tuple&) = default;
};

template <class... Ts>
tuple(Ts...) -> tuple<Ts...>;

template <std::size_t I, class... Ts>
FANIN_FUNCTION constexpr auto& get(tuple<Ts...>& t) noexcept {
  return detail::leaf_value<I>(t);
}

template <std::size_t I, class... Ts>
FANIN_FUNCTION constexpr const auto& get(const tuple<Ts...>& t) noexcept {
  return detail::leaf_value<I>(t);
}

template <std::size_t I, class... Ts>
FANIN_FUNCTION constexpr auto get(tuple<Ts...>&& t) noexcept {
  return detail::leaf_value<I>(t);
}

template <class T>
inline constexpr bool is_tuple_v = false;
template <class... Ts>
inline constexpr bool is_tuple_v<tuple<Ts...>> = true;

}  // namespace fanin

template <class... Ts>
struct std::tuple_size<fanin::tuple<Ts...>> : std::integral_constant<std::size_t, sizeof...(Ts)> {};

template <std::size_t I, class... Ts>
struct std::tuple_element<I, fanin::tuple<Ts...>> : std::tuple_element<I, std::tuple<Ts...>> {};
