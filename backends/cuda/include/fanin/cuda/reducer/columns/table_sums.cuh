// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <fanin/cuda/reducer/columns/numbers.cuh>
#include <fanin/detail/exact_limbs.hpp>
#include <fanin/detail/rounded_digits.hpp>
#include <fanin/detail/unrolled.hpp>
#include <fanin/device/warp.cuh>

namespace fanin::detail {

/// The sums of a table's rows, each of which stands in the row's first 8 bytes, as a number of 32-bit digits.
template <class Numbers>
class table_sums {
 public:
  /// Digits that a sum of rows can have.
  static constexpr int digits = Numbers::rows / 2 + 2;
  static constexpr bool all_fit = digits < Numbers::limbs;
  using limbs = exact_limbs<Numbers::limbs, all_fit>;
  static_assert(digits <= Numbers::rows);

  __device__ table_sums(unsigned char* table, unsigned bytes_of_row) : table_{table}, bytes_of_row_{bytes_of_row} {}

  __device__ std::int64_t& row(int k) const {
    return *reinterpret_cast<std::int64_t*>(table_ + static_cast<unsigned>(k) * bytes_of_row_);
  }

  /// The digits, before sum(). By all threads.
  __device__ void make_digits() const {
    for (unsigned j = threadIdx.x; j < digits; j += blockDim.x) {
      of_digit(static_cast<int>(j)) = digit(static_cast<int>(j));
    }
  }

  /// By one warp, of which lane 0 gets it; what does not fit goes to the spill.
  template <class Accumulator>
  __device__ limbs sum(Accumulator& spill) const {
    limbs sum;
    if constexpr (all_fit) {
      take(sum, 0, digits);
    } else {
      const auto [lowest, end] = digits_that_are_not_zero();
      if (lowest >= end || take(sum, lowest, end)) return sum;
#pragma unroll 1
      for (int j = lowest + static_cast<int>(threadIdx.x); j < end; j += warp_size) {
        spill.add_value_shared(of_digit(j), Numbers::lowest + bits_of_digit * j);
      }
      sum = {};
      sum.is_in_spill = 1;
    }
    return sum;
  }

 private:
  /// In what the warp leaves of a row.
  __device__ std::int64_t& of_digit(int j) const { return (&row(j))[1]; }

  /// What rows leave in one digit: 32 bits of each, of which the uppermost have a sign.
  __device__ std::int64_t digit(int j) const {
    const auto sum_of = [&](int k) { return k >= 0 && k < Numbers::rows ? row(k) : 0; };
    constexpr std::int64_t half = 0xffff;
    constexpr std::int64_t whole = 0xffff'ffff;
    return (sum_of(2 * j) & whole) + (sum_of(2 * j - 2) >> 32) + ((sum_of(2 * j + 1) & half) << 16) +
           (sum_of(2 * j - 1) >> 16 & whole) + (sum_of(2 * j - 3) >> 48);
  }

  struct places {
    int lowest;
    int end;
  };
  /// All lanes of the warp get it.
  __device__ places digits_that_are_not_zero() const {
    constexpr int rounds = (digits + static_cast<int>(warp_size) - 1) / static_cast<int>(warp_size);
    unsigned lowest = digits;
    unsigned end = 0;
    detail::unrolled<rounds>([&](int r) {
      const unsigned j = static_cast<unsigned>(r) * warp_size + threadIdx.x;
      const bool is_there = j < digits && of_digit(static_cast<int>(j < digits ? j : 0)) != 0;
      lowest = is_there && j < lowest ? j : lowest;
      end = is_there ? j + 1 : end;
    });
    return {static_cast<int>(least_in_warp(lowest)), static_cast<int>(most_in_warp(end))};
  }

  /// The digits lowest, ..., end - 1; false where the last limb does not take those above it.
  __device__ bool take(limbs& sum, int lowest, int end) const {
    constexpr std::int64_t most = std::int64_t{1} << limbs::room;
    constexpr int above = 3;  // where there is but the sign of a sum
    constexpr int count = Numbers::limbs;
    const auto found = [&](int k) { return lowest + k < end ? of_digit(lowest + k) : 0; };
    std::int64_t carried = 0;
    detail::unrolled<count - 1>([&](int k) {
      carried += found(k);
      sum.limb[k] = static_cast<std::uint32_t>(carried);
      carried >>= bits_of_digit;
    });
    std::int64_t last = 0;
    bool fits = end - lowest <= count + above;
    detail::unrolled<above + 1>([&](int k) {
      fits = fits && last < most && last >= -most;
      last =
          static_cast<std::int64_t>(static_cast<std::uint64_t>(last) << bits_of_digit) + found(count - 1 + above - k);
    });
    last += carried;
    sum.limb[count - 1] = static_cast<std::uint32_t>(last);
    sum.unit = static_cast<std::int16_t>(Numbers::lowest + bits_of_digit * lowest);
    return fits && last < most && last >= -most;
  }

  unsigned char* table_;
  unsigned bytes_of_row_;
};

}  // namespace fanin::detail
