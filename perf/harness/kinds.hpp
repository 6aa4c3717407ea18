// SPDX-License-Identifier: Apache-2.0
#pragma once

// What fanin-perf can be asked for: element types, operations and places, with the names that the
// command line, the JSON and the tables use.

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "harness/elements.hpp"

namespace fanin_perf {

/// c32, c64: complex numbers of two f32 or f64; s64: a struct of eight f64.
enum class element : std::uint8_t { i32, i64, u32, u64, f32, f64, i8, u8, i16, f16, bf16, c32, c64, s64 };
/// several: sum, min, max and sum of squares of the same elements. exact_sum: the sum rounded once, of f32 and f64; of
/// peers what comes nearest to it.
enum class operation : std::uint8_t { sum, min, max, min_loc, max_loc, sum_of_squares, dot, several, exact_sum };

/// Where a call runs; contenders of one place are compared with each other.
enum class place : std::uint8_t { one_thread, all_threads, gpu };

/// Where the result of a call goes.
enum class destination : std::uint8_t { host, device };

/// What the time of a call is taken from.
/// host, blocking: the host's clock, from the call to the value on the host, of a contender on the host or on the GPU.
/// calls, graph: CUDA events around calls enqueued back to back, or around a CUDA graph of such calls.
/// between_...: a graph in which a kernel of the user's stands before each call, less a graph of these kernels alone.
/// The kernel is a small one that touches other data, or an axpy that writes the array which is reduced next; calls
/// rotate over arrays as those of `graph` do, or take the same one again (hot).
enum class timing : std::uint8_t {
  host,
  calls,
  graph,
  blocking,
  between_small,
  between_small_hot,
  between_axpy,
  between_axpy_hot
};

inline constexpr std::array<std::string_view, 14> element_names{"i32", "i64", "u32", "u64",  "f32", "f64", "i8",
                                                                "u8",  "i16", "f16", "bf16", "c32", "c64", "s64"};
inline constexpr std::array<std::string_view, 9> operation_names{
    "sum", "min", "max", "min_loc", "max_loc", "sum_of_squares", "dot", "several", "exact_sum"};

/// In the order of their values.
inline constexpr std::array several_operations{operation::sum, operation::min, operation::max,
                                               operation::sum_of_squares};
inline constexpr std::array<std::string_view, 3> place_names{"one-thread", "all-threads", "gpu"};
inline constexpr std::array<std::string_view, 2> destination_names{"host", "device"};
inline constexpr std::array<std::string_view, 8> timing_names{
    "host", "calls", "graph", "blocking", "between_small", "between_small_hot", "between_axpy", "between_axpy_hot"};

constexpr std::string_view name(element e) { return element_names[static_cast<std::size_t>(e)]; }
constexpr std::string_view name(operation o) { return operation_names[static_cast<std::size_t>(o)]; }
constexpr std::string_view name(place p) { return place_names[static_cast<std::size_t>(p)]; }
constexpr std::string_view name(destination d) { return destination_names[static_cast<std::size_t>(d)]; }
constexpr std::string_view name(timing t) { return timing_names[static_cast<std::size_t>(t)]; }

template <class Enum, std::size_t Count>
constexpr std::optional<Enum> find_name(const std::array<std::string_view, Count>& names, std::string_view wanted) {
  for (std::size_t i = 0; i < Count; ++i) {
    if (names[i] == wanted) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

constexpr bool is_floating(element e) { return e == element::f32 || e == element::f64; }

constexpr bool is_between(timing t) { return t >= timing::between_small; }
constexpr bool is_graph(timing t) { return t == timing::graph || is_between(t); }
constexpr bool is_hot(timing t) { return t == timing::between_small_hot || t == timing::between_axpy_hot; }
constexpr bool is_behind_axpy(timing t) { return t == timing::between_axpy || t == timing::between_axpy_hot; }

constexpr bool has_index(operation o) { return o == operation::min_loc || o == operation::max_loc; }
constexpr bool is_sum(operation o) {
  return o == operation::sum || o == operation::sum_of_squares || o == operation::dot || o == operation::exact_sum;
}
constexpr std::int64_t arrays_of(operation o) { return o == operation::dot ? 2 : 1; }

template <class... T>
struct type_list {};

/// The C++ types, in the order of element.
using element_types =
    type_list<std::int32_t, std::int64_t, std::uint32_t, std::uint64_t, float, double, std::int8_t, std::uint8_t,
              std::int16_t, float16, bfloat16, std::complex<float>, std::complex<double>, eight_doubles>;

template <class T>
inline constexpr element element_of = [] {
  if constexpr (std::is_same_v<T, std::int32_t>) return element::i32;
  if constexpr (std::is_same_v<T, std::int64_t>) return element::i64;
  if constexpr (std::is_same_v<T, std::uint32_t>) return element::u32;
  if constexpr (std::is_same_v<T, std::uint64_t>) return element::u64;
  if constexpr (std::is_same_v<T, float>) return element::f32;
  if constexpr (std::is_same_v<T, double>) return element::f64;
  if constexpr (std::is_same_v<T, std::int8_t>) return element::i8;
  if constexpr (std::is_same_v<T, std::uint8_t>) return element::u8;
  if constexpr (std::is_same_v<T, std::int16_t>) return element::i16;
  if constexpr (std::is_same_v<T, float16>) return element::f16;
  if constexpr (std::is_same_v<T, bfloat16>) return element::bf16;
  if constexpr (std::is_same_v<T, std::complex<float>>) return element::c32;
  if constexpr (std::is_same_v<T, std::complex<double>>) return element::c64;
  if constexpr (std::is_same_v<T, eight_doubles>) return element::s64;
}();

/// The types on which every operation is defined; the others are only summed.
template <class T>
inline constexpr bool has_all_operations = std::is_arithmetic_v<T> && sizeof(T) >= 4;

/// Whether an operation is defined on a type.
template <class T, operation Op>
inline constexpr bool is_defined =
    Op == operation::exact_sum ? std::is_floating_point_v<T> : has_all_operations<T> || Op == operation::sum;

/// The same of a type by its name.
constexpr bool takes_all_operations(element e) { return e <= element::f64; }

/// Calls `f(std::type_identity<T>{})` with the C++ type of `e`.
template <class Function>
constexpr decltype(auto) with_type(element e, Function&& f) {
  switch (e) {
    case element::i32: return f(std::type_identity<std::int32_t>{});
    case element::i64: return f(std::type_identity<std::int64_t>{});
    case element::u32: return f(std::type_identity<std::uint32_t>{});
    case element::u64: return f(std::type_identity<std::uint64_t>{});
    case element::f32: return f(std::type_identity<float>{});
    case element::f64: return f(std::type_identity<double>{});
    case element::i8: return f(std::type_identity<std::int8_t>{});
    case element::u8: return f(std::type_identity<std::uint8_t>{});
    case element::i16: return f(std::type_identity<std::int16_t>{});
    case element::f16: return f(std::type_identity<float16>{});
    case element::bf16: return f(std::type_identity<bfloat16>{});
    case element::c32: return f(std::type_identity<std::complex<float>>{});
    case element::c64: return f(std::type_identity<std::complex<double>>{});
    case element::s64: break;
  }
  return f(std::type_identity<eight_doubles>{});
}

constexpr std::int64_t size_of(element e) {
  return with_type(e, [](auto t) { return static_cast<std::int64_t>(sizeof(typename decltype(t)::type)); });
}

/// Of component_type.
constexpr element component_of(element e) {
  return with_type(e, [](auto t) { return element_of<component_type<typename decltype(t)::type>>; });
}
constexpr std::size_t component_count_of(element e) {
  return with_type(e, [](auto t) { return component_count<typename decltype(t)::type>; });
}

template <operation Op>
using operation_constant = std::integral_constant<operation, Op>;

/// Calls `f(operation_constant<o>{})`.
template <class Function>
constexpr decltype(auto) with_operation(operation o, Function&& f) {
  switch (o) {
    case operation::sum: return f(operation_constant<operation::sum>{});
    case operation::min: return f(operation_constant<operation::min>{});
    case operation::max: return f(operation_constant<operation::max>{});
    case operation::min_loc: return f(operation_constant<operation::min_loc>{});
    case operation::max_loc: return f(operation_constant<operation::max_loc>{});
    case operation::sum_of_squares: return f(operation_constant<operation::sum_of_squares>{});
    case operation::dot: return f(operation_constant<operation::dot>{});
    case operation::several: return f(operation_constant<operation::several>{});
    case operation::exact_sum: break;
  }
  return f(operation_constant<operation::exact_sum>{});
}

}  // namespace fanin_perf
