// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <fanin/macros.hpp>

/// Arrays that expose a bug: an element that is dropped, counted twice or taken from elsewhere changes the answer.
namespace fanin_test {

#if defined(__has_feature)
inline constexpr bool is_sanitized = __has_feature(address_sanitizer);
#else
inline constexpr bool is_sanitized = false;
#endif

/// A 64-bit mix (splitmix64): different for every index, the same on every machine and device.
FANIN_FUNCTION constexpr std::uint64_t mix(std::uint64_t i) {
  std::uint64_t z = i * 0x9e3779b97f4a7c15ULL + 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

enum class data {
  /// Bit i mod (bits of T); for floats the power of two. A missing element of a short array is read off the sum.
  bit_per_index,
  /// All of an integer's range, so that sums and products wrap; floats in [-1, 1).
  random_signed,
  /// Small whole numbers of both signs: float sums are exact in any order.
  whole_numbers,
  /// Huge ones that cancel, and tiny ones between them.
  huge_and_tiny,
  /// Close to one, of both signs: products neither overflow nor vanish.
  near_one,
  /// A falling sequence in which every value stands twice, far apart.
  pairs,
  /// Zero and one, mostly one; what land and lor can get wrong.
  flags,
};

inline const char* name_of(data kind) {
  switch (kind) {
    case data::bit_per_index: return "bit_per_index";
    case data::random_signed: return "random_signed";
    case data::whole_numbers: return "whole_numbers";
    case data::huge_and_tiny: return "huge_and_tiny";
    case data::near_one: return "near_one";
    case data::pairs: return "pairs";
    case data::flags: return "flags";
  }
  return "?";
}

template <class T>
T element(data kind, std::size_t i, std::size_t n) {
  const std::uint64_t bits = mix(i);
  const double unit = static_cast<double>(bits >> 11) * 0x1p-53;  // [0, 1)
  const auto whole = static_cast<int>(bits % 16) - 8;
  switch (kind) {
    case data::bit_per_index:
      if constexpr (std::integral<T>) {
        return static_cast<T>(std::uint64_t{1} << (i % (8 * sizeof(T))));
      } else {
        return static_cast<T>(std::uint64_t{1} << (i % 24));
      }
    case data::random_signed:
      if constexpr (std::integral<T>) {
        return static_cast<T>(bits);
      } else {
        return static_cast<T>(2 * unit - 1);
      }
    case data::whole_numbers: return static_cast<T>(whole);
    case data::huge_and_tiny:
      if constexpr (std::integral<T>) {
        return i % 3 == 0 ? std::numeric_limits<T>::max()
                          : (i % 3 == 1 ? static_cast<T>(whole) : std::numeric_limits<T>::lowest());
      } else {
        return static_cast<T>(i % 3 == 0 ? 1e18 : (i % 3 == 1 ? unit * 1e-18 : -1e18));
      }
    case data::near_one:
      if constexpr (std::integral<T>) {
        return static_cast<T>(bits | 1);  // odd: a product that wraps never sticks at zero
      } else {
        return static_cast<T>((bits % 2 == 0 ? 1 : -1) * (1 + (unit - 0.5) * 0x1p-9));
      }
    case data::pairs: return static_cast<T>((n - i) % (n / 2 + 1));
    case data::flags: return static_cast<T>(bits % 64 != 0 ? 1 + bits % 3 : 0);
  }
  return T{};
}

template <class T>
std::vector<T> make_data(data kind, std::size_t n) {
  std::vector<T> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = element<T>(kind, i, n);
  return x;
}

/// A Fisher-Yates shuffle that depends on nothing but the seed.
template <class T>
void permute(std::vector<T>& x, std::uint64_t seed) {
  for (std::size_t i = x.size(); i > 1; --i) std::swap(x[i - 1], x[mix(seed + i) % i]);
}

/// Nothing, one, around a warp, around a block, around a block's tile, odd, and one that fills a grid.
inline const std::vector<std::size_t>& sizes() {
  static const std::vector<std::size_t> all = [] {
    std::vector<std::size_t> some{0, 1, 2, 31, 32, 33, 63, 255, 256, 257, 1023, 1025, 4097, 65537};
    // A sanitizer sees nothing new there, and takes a minute.
    if (!is_sanitized) some.push_back((std::size_t{1} << 20) + 7);
    return some;
  }();
  return all;
}

/// A few of them, where the number of cases counts.
inline const std::vector<std::size_t>& few_sizes() {
  static const std::vector<std::size_t> few{0, 1, 2, 33, 257, 1025, 100'003};
  return few;
}

}  // namespace fanin_test
