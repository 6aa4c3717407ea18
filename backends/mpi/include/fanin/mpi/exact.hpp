// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <cstddef>
#include <cstdint>

#include <fanin/detail/exact_ranks.hpp>
#include <fanin/exact_accumulator.hpp>
#include <fanin/mpi/over.hpp>

/// Exact sums over MPI's ranks: as words that are added up.
namespace fanin {

namespace detail {

/// The digits of an exact sum have 32 bits each, and 2^31 ranks' sum of them 63; the last one is signed and wraps as it
/// should; how many ranks had infinities and NaN stands behind them.
template <int Lowest, int Limbs>
struct summed_words<basic_exact_accumulator<Lowest, Limbs>> {
  using accumulator = basic_exact_accumulator<Lowest, Limbs>;
  static constexpr std::size_t count = static_cast<std::size_t>(accumulator::word_count);

  static void put(const accumulator& acc, std::uint64_t* words) {
    for (const std::int64_t word : acc.words()) *words++ = static_cast<std::uint64_t>(word);
  }
  static accumulator get(const std::uint64_t* words) {
    std::int64_t digits[Limbs];
    std::uint64_t carry = 0;
    for (std::size_t digit = 0; digit + 1 < static_cast<std::size_t>(Limbs); ++digit) {
      const std::uint64_t sum = words[digit] + carry;
      digits[digit] = static_cast<std::int64_t>(sum & 0xffff'ffff);
      carry = sum >> 32;
    }
    digits[Limbs - 1] = static_cast<std::int64_t>(words[Limbs - 1] + carry);
    accumulator acc;
    acc.add_digits(digits, words[Limbs] != 0, words[Limbs + 1] != 0, words[Limbs + 2] != 0);
    return acc;
  }
};
template <>
struct summed_words<exact_complex_accumulator> {
  using of_part = summed_words<exact_accumulator>;
  static constexpr std::size_t count = 2 * of_part::count;

  static void put(const exact_complex_accumulator& acc, std::uint64_t* words) {
    of_part::put(acc.real, words);
    of_part::put(acc.imaginary, words + of_part::count);
  }
  static exact_complex_accumulator get(const std::uint64_t* words) {
    return {of_part::get(words), of_part::get(words + of_part::count)};
  }
};

}  // namespace detail

}  // namespace fanin
