// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace fanin::detail {

/// A value, up to 8 bytes of words, as it is, which the compiler cannot know: else it may fuse the product that gave it
/// with the addition that takes it, here and not there. (ptxas sees through an empty asm; that threads of a block have
/// one dimension it does not know.)
template <class T>
__device__ T unfused(const T& value) {
#if defined(__CUDA_ARCH__)
  if constexpr (!std::is_integral_v<T> && std::is_trivially_copyable_v<T> && std::is_copy_constructible_v<T> &&
                sizeof(T) <= 8) {
    using unit = std::conditional_t<sizeof(T) % 4 == 0, std::uint32_t,
                                    std::conditional_t<sizeof(T) % 2 == 0, std::uint16_t, std::uint8_t>>;
    T copy(value);
    unit words[sizeof(T) / sizeof(unit)];
    std::memcpy(words, &copy, sizeof(T));
    for (unit& word : words) word = static_cast<unit>(word ^ threadIdx.y);
    std::memcpy(static_cast<void*>(&copy), words, sizeof(T));
    return copy;
  }
#endif
  return value;
}

}  // namespace fanin::detail
