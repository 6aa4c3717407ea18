// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <fanin/macros.hpp>

/// Integers of 8 or 16 bits, several in a word.
namespace fanin::detail {

template <class T>
using word_of_signedness = std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>;

/// total + the 4 / sizeof(T) integers at `values`, which are aligned as a word: one instruction (dp4a, dp2a) on a
/// device.
template <class T>
FANIN_FUNCTION constexpr word_of_signedness<T> add_packed(const T* values, word_of_signedness<T> total) {
#if defined(__CUDA_ARCH__)
  word_of_signedness<T> packed = 0;
  ::memcpy(&packed, values, sizeof(packed));
  constexpr word_of_signedness<T> ones = 0x01010101;
  if constexpr (sizeof(T) == 1) {
    return __dp4a(packed, ones, total);
  } else {
    word_of_signedness<T> result = 0;
    if constexpr (std::is_signed_v<T>) {
      asm("dp2a.lo.s32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(packed), "r"(ones), "r"(total));
    } else {
      asm("dp2a.lo.u32.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(packed), "r"(ones), "r"(total));
    }
    return result;
  }
#else
  for (std::size_t k = 0; k < 4 / sizeof(T); ++k) total += static_cast<word_of_signedness<T>>(values[k]);
  return total;
#endif
}

}  // namespace fanin::detail
