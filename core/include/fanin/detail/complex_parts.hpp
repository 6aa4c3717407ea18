// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <type_traits>

namespace fanin::detail {

/// std::complex as what it consists of: its own operators are not for device code (nvcc leaves out what it does not
/// understand of them).
template <class T>
struct complex_parts {
  using complex = void;
};
template <class F>
struct complex_parts<std::complex<F>> {
  using complex = std::complex<F>;
  F real;
  F imaginary;
};
template <class T>
inline constexpr bool is_std_complex = !std::is_void_v<typename complex_parts<T>::complex>;

}  // namespace fanin::detail
