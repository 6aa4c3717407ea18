// SPDX-License-Identifier: Apache-2.0
// No #pragma once: one level's unit includes this under its instruction set, with FANIN_HOST_TABLE and
// FANIN_HOST_VECTOR_BYTES. Functions of other headers would keep the unit's own instruction set, so that what the
// linker keeps of them serves every processor; everything here is the level's own, but for what is always inlined.

namespace fanin::detail::host {
namespace {

template <class T, int Bytes>
struct sized_vector {
  typedef T type __attribute__((vector_size(Bytes)));
};
template <class T, int Bytes>
using sized_vector_t = typename sized_vector<T, Bytes>::type;
template <class T>
using vector = sized_vector_t<T, FANIN_HOST_VECTOR_BYTES>;

template <class Vector>
struct two {
  Vector first;
  Vector second;
};
template <class T>
constexpr int width = FANIN_HOST_VECTOR_BYTES / sizeof(T);

template <class T>
vector<T> load(const T* from) {
  vector<T> x;
  __builtin_memcpy(&x, from, sizeof(x));
  return x;
}

/// In a register: g++ otherwise reads memory again for each use.
template <class T>
vector<T> load_once(const T* from) {
  vector<T> x = load(from);
#if defined(__x86_64__)
  __asm__("" : "+v"(x));
#endif
  return x;
}

#include "sums.hpp"
//
#include "extremes.hpp"
//
#include "exact_bins.hpp"
#include "exact_digits.hpp"
//
#include "exact_table.hpp"
//
#include "exact_sources.hpp"
//
#include "exact.hpp"

template <class T>
constexpr loops<T> make_loops() {
  if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) {
    return {nullptr, nullptr, nullptr, nullptr, lowest<T>, highest<T>, both_extremes<T>, place<T>, nullptr};
  } else {
    return {take<plus, T>, take<times, T>,   total<plus, T>, total<times, T>, lowest<T>,
            highest<T>,    both_extremes<T>, place<T>,       take_products<T>};
  }
}

template <class Loops>
struct make;
template <class T>
struct make<loops<T>> {
  static constexpr loops<T> all = make_loops<T>();
};
template <class T>
struct make<exact_loops<T>> {
  static constexpr exact_loops<T> all = make_exact_loops<T>();
};
template <class... Loops>
constexpr std::tuple<Loops...> make_all(const std::tuple<Loops...>*) {
  return {make<Loops>::all...};
}

}  // namespace

const all_loops& FANIN_HOST_TABLE() noexcept {
  static const all_loops all = make_all(static_cast<const all_loops*>(nullptr));
  return all;
}

}  // namespace fanin::detail::host
