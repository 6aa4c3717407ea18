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
  using limbs = exact_limbs<Numbers::limbs>;
  /// Digits that a sum of rows can have.
  static constexpr int digits = Numbers::rows / 2 + 2;
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
    constexpr int rounds = (digits + static_cast<int>(warp_size) - 1) / static_cast<int>(warp_size);
    unsigned lowest = digits;
    unsigned end = 0;
    unrolled<rounds>([&](int r) {
      const unsigned j = static_cast<unsigned>(r) * warp_size + threadIdx.x;
      const bool is_there = j < digits && of_digit(static_cast<int>(j < digits ? j : 0)) != 0;
      lowest = is_there && j < lowest ? j : lowest;
      end = is_there ? j + 1 : end;
    });
    lowest = least_in_warp(lowest);
    end = most_in_warp(end);
    limbs sum;
    if (end == 0 || take(sum, static_cast<int>(lowest), static_cast<int>(end))) return sum;
#pragma unroll 1
    for (unsigned j = lowest + threadIdx.x; j < end; j += warp_size) {
      spill.add_value_shared(of_digit(static_cast<int>(j)), Numbers::lowest + bits_of_digit * static_cast<int>(j));
    }
    sum = {};
    sum.is_in_spill = 1;
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

  /// The digits lowest, ..., end - 1; false where the last limb does not take those above it.
  __device__ bool take(limbs& sum, int lowest, int end) const {
    constexpr std::int64_t mask = 0xffff'ffff;
    constexpr std::int64_t most_above = 1 << 19;
    constexpr int above = 3;  // where there is but the sign of a sum
    constexpr int count = Numbers::limbs;
    const auto found = [&](int k) { return lowest + k < end ? of_digit(lowest + k) : 0; };
    std::int64_t last = 0;
    bool fits = end - lowest <= count + above;
    unrolled<above + 1>([&](int k) {
      fits = fits && last < most_above && last >= -most_above;
      last =
          static_cast<std::int64_t>(static_cast<std::uint64_t>(last) << bits_of_digit) + found(count - 1 + above - k);
    });
    std::int64_t carried = 0;
    unrolled<count - 1>([&](int k) {
      carried += found(k);
      sum.limb[k] = carried & mask;
      carried >>= bits_of_digit;
    });
    sum.limb[count - 1] = last + carried;
    sum.unit = Numbers::lowest + bits_of_digit * lowest;
    return fits;
  }

  unsigned char* table_;
  unsigned bytes_of_row_;
};

}  // namespace fanin::detail
