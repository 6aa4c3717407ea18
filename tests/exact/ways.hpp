// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fanin/fanin.hpp>

#include "support/functors.hpp"

/// One sum in every way that a host has for it. All must give the same bits.
namespace fanin_test {

template <class Result>
using answers = std::vector<std::pair<std::string, Result>>;

template <class Exec, class Reducer>
void ask_backend(answers<typename Reducer::result_type>& to, const std::string& name, Exec& exec,
                 std::span<const typename Reducer::value_type> x, const Reducer& reducer) {
  using value_type = typename Reducer::value_type;
  const auto range = fanin::range(exec, x.size());
  to.emplace_back(name + ", of a span", fanin::reduce(exec, x, reducer));
  to.emplace_back(name + ", f(i)", fanin::parallel_reduce(range, at<value_type>{x.data()}, reducer));
  to.emplace_back(name + ", f(i, acc)", fanin::parallel_reduce(range, add_to_state<Reducer>{x.data()}, reducer));
  const auto several = fanin::reduce(exec, x, fanin::min<value_type>{}, reducer, fanin::sum<value_type>{});
  to.emplace_back(name + ", among several", fanin::get<1>(several));
  typename Reducer::result_type out{};
  fanin::reduce_into(&out, exec, x, reducer);
  to.emplace_back(name + ", into", out);
}

/// Accumulators of arbitrary pieces, merged in an arbitrary order, some of them by way of their bytes.
template <class T>
fanin::exact_accumulator merged_pieces(std::span<const T> x, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<fanin::exact_accumulator> pieces(1 + random() % 9);
  for (const T value : x) pieces[random() % pieces.size()].add(value);
  while (pieces.size() > 1) {
    const std::size_t i = random() % pieces.size();
    fanin::exact_accumulator one = pieces[i];
    pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(i));
    if (random() % 2 == 0) one = fanin::exact_accumulator::deserialise(one.serialise());
    pieces[random() % pieces.size()].merge(one);
  }
  return pieces.front();
}

/// Recursive halving holds an accumulator for every two elements.
inline constexpr std::size_t most_for_halving = 3000;

template <class Reducer>
answers<typename Reducer::result_type> ask_all(std::span<const typename Reducer::value_type> x,
                                               const Reducer& reducer) {
  answers<typename Reducer::result_type> to;
  fanin::serial by_default;
  ask_backend(to, "serial", by_default, x, reducer);
  fanin::serial in_order(fanin::serial_order::left_to_right);  // what a thread gathers into, number by number
  ask_backend(to, "serial, left to right", in_order, x, reducer);
  if (x.size() <= most_for_halving) {
    fanin::serial halving(fanin::serial_order::recursive_halving);
    ask_backend(to, "serial, halving", halving, x, reducer);
  }
#if FANIN_HAS_KOKKOS && !FANIN_KOKKOS_NEEDS_CUDA
#if defined(KOKKOS_ENABLE_SERIAL)
  static fanin::kokkos<Kokkos::Serial> kokkos_serial;
  ask_backend(to, "Kokkos::Serial", kokkos_serial, x, reducer);
#endif
#if defined(KOKKOS_ENABLE_OPENMP)
  static fanin::kokkos<Kokkos::OpenMP> kokkos_openmp;
  ask_backend(to, "Kokkos::OpenMP", kokkos_openmp, x, reducer);
#endif
#endif
  return to;
}

}  // namespace fanin_test
