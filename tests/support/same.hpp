// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ostream>
#include <type_traits>
#include <utility>
#include <vector>

#include <fanin/md_index.hpp>
#include <fanin/reducers.hpp>
#include <fanin/tuple.hpp>

/// Equality as the contract means it: bit by bit, -0 and +0 told apart; of a NaN only that it is one.
namespace fanin_test {

template <class T>
  requires std::is_arithmetic_v<T>
bool same(T a, T b) {
  if constexpr (std::floating_point<T>) {
    if (a != a || b != b) return a != a && b != b;
    return std::memcmp(&a, &b, sizeof(T)) == 0;
  } else {
    return a == b;
  }
}

template <class T, class Index>
bool same(const fanin::value_index<T, Index>& a, const fanin::value_index<T, Index>& b) {
  return same(a.value, b.value) && a.index == b.index;
}

template <class T>
bool same(const fanin::min_max_value<T>& a, const fanin::min_max_value<T>& b) {
  return same(a.min, b.min) && same(a.max, b.max);
}

template <class T, class Index>
bool same(const fanin::min_max_index<T, Index>& a, const fanin::min_max_index<T, Index>& b) {
  return same(a.min, b.min) && same(a.max, b.max) && a.min_index == b.min_index && a.max_index == b.max_index;
}

template <class... Ts>
bool same(const fanin::tuple<Ts...>& a, const fanin::tuple<Ts...>& b) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return (same(fanin::get<I>(a), fanin::get<I>(b)) && ...);
  }(std::index_sequence_for<Ts...>{});
}

template <class T>
  requires std::is_arithmetic_v<T>
void show(std::ostream& out, T x) {
  if constexpr (std::floating_point<T>) {
    const auto precision = out.precision(17);
    out << x;
    out.precision(precision);
  } else {
    out << +x;
  }
}

inline void show_place(std::ostream& out, std::int64_t index) { out << " at " << index; }
template <std::size_t Rank>
void show_place(std::ostream& out, const fanin::md_index<Rank>& index) {
  const char* before = " at (";
  for (const std::int64_t i : index.at) {
    out << before << i;
    before = ", ";
  }
  out << ")";
}

template <class T, class Index>
void show(std::ostream& out, const fanin::value_index<T, Index>& x) {
  show(out, x.value);
  show_place(out, x.index);
}

template <class T>
void show(std::ostream& out, const fanin::min_max_value<T>& x) {
  show(out, x.min);
  out << " .. ";
  show(out, x.max);
}

template <class T, class Index>
void show(std::ostream& out, const fanin::min_max_index<T, Index>& x) {
  show(out, x.min);
  show_place(out, x.min_index);
  out << " .. ";
  show(out, x.max);
  show_place(out, x.max_index);
}

template <class... Ts>
void show(std::ostream& out, const fanin::tuple<Ts...>& x) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((out << (I == 0 ? "(" : ", "), show(out, fanin::get<I>(x))), ...);
  }(std::index_sequence_for<Ts...>{});
  out << ")";
}

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](const T& x, const T& y) { return same(x, y); });
}
/// How many there are, and the first one.
template <class T>
void show(std::ostream& out, const std::vector<T>& xs) {
  out << xs.size() << " values, ";
  if (!xs.empty()) show(out, xs.front());
  out << " ...";
}

template <class T>
::testing::AssertionResult is_same(const T& got, const T& expected) {
  if (same(got, expected)) return ::testing::AssertionSuccess();
  auto failure = ::testing::AssertionFailure();
  std::ostringstream text;
  text << "got ";
  show(text, got);
  text << ", expected ";
  show(text, expected);
  return failure << text.str();
}

}  // namespace fanin_test
