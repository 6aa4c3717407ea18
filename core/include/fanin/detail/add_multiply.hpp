// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <type_traits>

#include <fanin/detail/complex_parts.hpp>
#include <fanin/macros.hpp>

/// How sums and products add and multiply: integers wrap, std::complex in parts, others by their operators.
namespace fanin::detail {

/// The unsigned type that wrapping arithmetic on T goes through: at least `unsigned`, so that promotion to a signed
/// int cannot overflow.
template <class T>
struct wrapping {
  using type = std::conditional_t<(sizeof(T) < sizeof(unsigned)), unsigned, std::make_unsigned_t<T>>;
};

template <class T>
FANIN_FUNCTION constexpr T zero() {
  if constexpr (is_std_complex<T>) {
    return std::bit_cast<T>(complex_parts<T>{});
  } else {
    return T{};
  }
}

template <class T>
FANIN_FUNCTION constexpr T one() {
  if constexpr (is_std_complex<T>) {
    return std::bit_cast<T>(complex_parts<T>{1, 0});
  } else {
    return T{1};
  }
}

template <class T>
FANIN_FUNCTION constexpr T add(T a, T b) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    using word = typename wrapping<T>::type;
    return static_cast<T>(static_cast<word>(a) + static_cast<word>(b));
  } else if constexpr (is_std_complex<T>) {
    const auto x = std::bit_cast<complex_parts<T>>(a);
    const auto y = std::bit_cast<complex_parts<T>>(b);
    return std::bit_cast<T>(complex_parts<T>{x.real + y.real, x.imaginary + y.imaginary});
  } else if constexpr (requires { a + b; }) {
    return static_cast<T>(a + b);
  } else {
    a += b;
    return a;
  }
}

template <class T>
FANIN_FUNCTION constexpr T multiply(T a, T b) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    using word = typename wrapping<T>::type;
    return static_cast<T>(static_cast<word>(a) * static_cast<word>(b));
  } else if constexpr (is_std_complex<T>) {
    const auto x = std::bit_cast<complex_parts<T>>(a);
    const auto y = std::bit_cast<complex_parts<T>>(b);
    return std::bit_cast<T>(
        complex_parts<T>{x.real * y.real - x.imaginary * y.imaginary, x.real * y.imaginary + x.imaginary * y.real});
  } else if constexpr (requires { a* b; }) {
    return static_cast<T>(a * b);
  } else {
    a *= b;
    return a;
  }
}

}  // namespace fanin::detail
