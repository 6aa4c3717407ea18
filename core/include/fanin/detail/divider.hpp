// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

#include <fanin/device/arithmetic.hpp>
#include <fanin/macros.hpp>

namespace fanin::detail {

/// Division by a number that is known before a loop, as a multiplication: n / d is the upper half of 2 n m, shifted by
/// l, where 2^l is the least power that is at least d, and m = ceil(2^(bits - 1 + l) / d). That is exact for
/// n < 2^(bits - 1) (Granlund and Montgomery, "Division by invariant integers using multiplication", PLDI 1994: m d
/// exceeds the power by less than 2^l). Numbers below 2^31 have half the bits, a fourth of the work.
class divider {
 public:
  constexpr divider() = default;
  /// By d >= 1.
  constexpr explicit divider(std::int64_t d)
      : divisor_{static_cast<std::uint64_t>(d)}, shift_{static_cast<std::uint32_t>(std::bit_width(divisor_ - 1))} {
    // The quotient's bits one after the other: 2^(63 + l) does not fit.
    std::uint64_t rest = std::uint64_t{1} << shift_ >> 1;  // 2^(l - 1) < d
    if (shift_ == 0) {
      factor_ = std::uint64_t{1} << 63;
    } else {
      for (int bit = 0; bit < 64; ++bit) {
        const bool overflows = rest >> 63 != 0;
        rest <<= 1;
        const bool fits = overflows || rest >= divisor_;
        if (fits) rest -= divisor_;
        factor_ = (factor_ << 1) | (fits ? 1U : 0U);
      }
      if (rest != 0) ++factor_;
    }
    short_factor_ = static_cast<std::uint32_t>((factor_ >> 32) + ((factor_ & UINT32_MAX) != 0 ? 1 : 0));
  }

  FANIN_FUNCTION constexpr std::uint64_t divisor() const { return divisor_; }
  /// Of n < 2^63.
  FANIN_FUNCTION constexpr std::uint64_t quotient(std::uint64_t n) const {
    return high_product(2 * n, factor_) >> shift_;
  }
  /// Of n < 2^31 by a d of at most 2^31.
  FANIN_FUNCTION constexpr std::uint32_t quotient(std::uint32_t n) const {
    return high_product(2 * n, short_factor_) >> shift_;
  }

 private:
  std::uint64_t divisor_ = 1;
  std::uint64_t factor_ = 0;
  std::uint32_t short_factor_ = 0;
  std::uint32_t shift_ = 0;
};

}  // namespace fanin::detail
