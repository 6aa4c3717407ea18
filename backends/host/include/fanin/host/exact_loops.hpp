// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <cstdint>
#include <cstdlib>
#include <type_traits>

#include <fanin/host/loops.hpp>

#pragma GCC visibility push(default)

/// The loops of exact sums, compiled in the library fanin::host like those of fanin/host/loops.hpp. Integers, and
/// additions of doubles that are exact in every mode of the thread: each loop sets the mode that it needs, and puts
/// back the one that it found.
namespace fanin::detail::host {

/// A sum as an integer: digit k counts units of 2^(Lowest + 32 k). A digit takes 2^30 additions of up to 2^32.
template <int Lowest, int Count>
struct exact_digits {
  static constexpr int lowest = Lowest;
  static constexpr int count = Count;
  std::int64_t digit[Count];
  std::int64_t positive_infinities;
  std::int64_t negative_infinities;
  std::int64_t nans;
};
/// Of elements, and of products of two floats; and of products of two doubles.
using digits_of_sum = exact_digits<-1074, 68>;
using digits_of_products = exact_digits<-2148, 134>;

/// An exact sum of one thread on its way. What it has taken is in the digits, in the bins and in the table; or, while
/// that is few elements that lie near to each other, in two words.
template <class Digits>
struct exact_state {
  static constexpr int most_bins = 6;
  static constexpr int most_lanes = 32;

  Digits digits;  ///< written when there are any
  bool has_digits = false;
  /// Those few elements: in units of 2^unit, and of 2^(unit + bits_of_few).
  static constexpr int bits_of_few = 48;
  std::int64_t few[2] = {};
  int unit = Digits::lowest;
  /// Written when there are bins: what they took of each lane, bin k in units of 2^(top - width (k + 1)).
  alignas(64) std::int64_t held[most_bins][most_lanes];
  int bins = 0;  ///< how many there are; 0: numbers go to the table
  int top = 0;
  std::int64_t until_look = 0;     ///< elements until the range of the next ones is looked at
  std::int64_t missed = 0;         ///< elements that the bins have not taken since the last look
  std::int64_t in_table = 0;       ///< elements for the table since then, or before there was one
  std::uint64_t* table = nullptr;  ///< from std::calloc

  constexpr exact_state() {
    if (!std::is_constant_evaluated()) asm("");  // g++ makes a constant otherwise, and of 2 KiB, most of it zeros
  }
  exact_state(const exact_state&) = delete;
  exact_state& operator=(const exact_state&) = delete;
  constexpr ~exact_state() {
    if (table != nullptr) std::free(table);
  }
};

/// For float and double.
template <class T>
struct exact_loops {
  using products_state = exact_state<std::conditional_t<sizeof(T) == 4, digits_of_sum, digits_of_products>>;
  /// Takes the next n elements in.
  void (*add)(exact_state<digits_of_sum>& into, const T* from, std::int64_t n);
  /// Leaves everything in the digits, or in the two words.
  void (*finish)(exact_state<digits_of_sum>& of);
  /// Takes the products of the next n elements of two arrays in, none of them rounded.
  void (*add_products)(products_state& into, const T* x, const T* y, std::int64_t n);
  void (*finish_products)(products_state& of);
  /// The first and second numbers of n pairs, apart.
  void (*separate)(const T* pairs, std::int64_t n, T* first, T* second);
};

/// Those of one level; null where the processor does not have it, or the library was compiled without.
template <class T>
const exact_loops<T>* exact_loops_at(level which) noexcept;

/// Those of the best level.
template <class T>
const exact_loops<T>& exact_loops_of() noexcept;

}  // namespace fanin::detail::host

#pragma GCC visibility pop
