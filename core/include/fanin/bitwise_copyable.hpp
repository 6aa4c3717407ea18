// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <fanin/tuple.hpp>

namespace fanin {

/// Whether a copy of T's bytes is a copy of T, on the host and on a device: what Fanin asks of elements, reducers,
/// accumulators and results. Some types are so and the language does not know it, as std::pair, whose assignment is
/// not trivial. For one of your own: template <> struct fanin::is_bitwise_copyable<my_type> : std::true_type {};
template <class T>
struct is_bitwise_copyable : std::is_trivially_copyable<T> {};
template <class First, class Second>
struct is_bitwise_copyable<std::pair<First, Second>>
    : std::conjunction<is_bitwise_copyable<First>, is_bitwise_copyable<Second>> {};
template <class... T>
struct is_bitwise_copyable<std::tuple<T...>> : std::conjunction<is_bitwise_copyable<T>...> {};
template <class... T>
struct is_bitwise_copyable<tuple<T...>> : std::conjunction<is_bitwise_copyable<T>...> {};
template <class T, std::size_t N>
struct is_bitwise_copyable<std::array<T, N>> : is_bitwise_copyable<T> {};

template <class T>
inline constexpr bool is_bitwise_copyable_v = is_bitwise_copyable<T>::value;

}  // namespace fanin
