// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>

#include <fanin/cuda/reducer/rank.hpp>
#include <fanin/macros.hpp>
#include <fanin/reducers.hpp>

namespace fanin::detail {

/// sum<T, Acc> of 8-bit or 16-bit integers: the elements of a 32-bit word are added by one instruction (dp4a, dp2a)
/// instead of two each. Exact: what a row of a tile adds up to fits 32 bits, and Acc wraps as for sum.
template <std::integral T, std::integral Acc>
  requires(sizeof(T) <= 2)
struct packed_sum : sum<T, Acc> {
  template <int Rows, int Columns>
    requires(Columns * sizeof(T) % 4 == 0)
  FANIN_FUNCTION constexpr void fold_tile(Acc& acc, const T* values, std::int64_t, std::int64_t, int rows) const {
    constexpr int elements = 4 / sizeof(T);
    for (int r = 0; r < Rows; ++r) {
      if (r < rows) {
        word total = 0;
        for (int k = 0; k < Columns; k += elements) total = add_word(values + r * Columns + k, total);
        this->join(acc, static_cast<Acc>(total));
      }
    }
  }

 private:
  using word = std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>;

  FANIN_FUNCTION static constexpr word add_word(const T* values, word total) {
#if defined(__CUDA_ARCH__)
    word packed = 0;
    memcpy(&packed, values, sizeof(packed));
    constexpr word ones = 0x01010101;
    if constexpr (sizeof(T) == 1) {
      return __dp4a(packed, ones, total);
    } else {
      return dp2a(packed, ones, total);
    }
#else
    for (std::size_t k = 0; k < 4 / sizeof(T); ++k) total += static_cast<word>(values[k]);
    return total;
#endif
  }

#if defined(__CUDACC__)
  __device__ static std::int32_t dp2a(std::int32_t packed, std::int32_t ones, std::int32_t total) {
    std::int32_t result = 0;
    asm("dp2a.lo.s32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(packed), "r"(ones), "r"(total));
    return result;
  }
  __device__ static std::uint32_t dp2a(std::uint32_t packed, std::uint32_t ones, std::uint32_t total) {
    std::uint32_t result = 0;
    asm("dp2a.lo.u32.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(packed), "r"(ones), "r"(total));
    return result;
  }
#endif
};

template <class T, class Acc>
inline constexpr bool is_word_sum<packed_sum<T, Acc>> = is_word_sum<sum<T, Acc>>;

}  // namespace fanin::detail
