// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <fanin/device/atomics.hpp>
#include <fanin/macros.hpp>

/// How the digits of an exact accumulator take an addition: three neighbours at once, or a count.
namespace fanin::detail {

/// Of one thread.
struct own_digits {
  FANIN_FUNCTION static void add(std::int64_t& to, std::int64_t increment) { to += increment; }
  FANIN_FUNCTION static void add_digits(std::int64_t* to, std::uint32_t low, std::uint32_t mid, std::uint32_t high,
                                        bool is_negative) {
    const std::int64_t sign = is_negative ? -1 : 0;  // by arithmetic: a branch on it would be a guess
    const auto with_sign = [&](std::uint32_t digit) { return (std::int64_t{digit} ^ sign) - sign; };
    to[0] += with_sign(low);
    to[1] += with_sign(mid);
    to[2] += with_sign(high);
  }
};

/// Of several threads at once.
struct shared_digits {
  FANIN_FUNCTION static void add(std::int64_t& to, std::int64_t increment) { fanin::atomic_fetch_add(to, increment); }
  /// As two's complement, of which only the uppermost digit has a sign.
  FANIN_FUNCTION static void add_digits(std::int64_t* to, std::uint32_t low, std::uint32_t mid, std::uint32_t high,
                                        bool is_negative) {
    const std::uint32_t one = is_negative ? 1 : 0;
    const std::uint32_t sign = 0 - one;  // by arithmetic, as above
    atomic_fetch_add_digits(to, std::uint64_t{low ^ sign} + one, mid ^ sign, std::int64_t{high} ^ -std::int64_t{one});
  }
};

}  // namespace fanin::detail
