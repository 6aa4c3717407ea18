// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <fanin/detail/exact_ranks.hpp>
#include <fanin/exact_accumulator.hpp>
#include <fanin/nccl/over.hpp>

/// Exact sums over NCCL's ranks: what a part gives is canonical, so that its digits have 32 bits each, and 2^31 ranks'
/// sum of them 63; the last one is signed and wraps as it should; how many ranks had infinities and NaN stands behind
/// them. A join with nothing makes it canonical again.
namespace fanin::detail {

#if defined(__CUDACC__)

/// To ranks whose memory is reached go the digits that there are: of data of one magnitude a few.
template <class Accumulator>
struct sent_digits;
template <class R>
  requires(hands_over_words<R>)
struct sent_by<R> {
  using type = sent_digits<reducer_accumulator_t<R>>;
};

template <int Lowest, int Limbs>
struct sent_digits<basic_exact_accumulator<Lowest, Limbs>> {
  using accumulator = basic_exact_accumulator<Lowest, Limbs>;
  static constexpr int most_words = accumulator::most_packed_words;

  __device__ static int put(const accumulator& value, std::uint32_t* words) { return value.pack(words); }
  template <class R>
  __device__ static int take(const R&, accumulator& into, const std::uint32_t* words, bool) {
    return into.add_packed(words);
  }
};
template <>
struct sent_digits<exact_complex_accumulator> {
  static constexpr int most_words = 2 * exact_accumulator::most_packed_words;

  __device__ static int put(const exact_complex_accumulator& value, std::uint32_t* words) {
    const int real = value.real.pack(words);
    return real + value.imaginary.pack(words + real);
  }
  template <class R>
  __device__ static int take(const R&, exact_complex_accumulator& into, const std::uint32_t* words, bool) {
    const int real = into.real.add_packed(words);
    return real + into.imaginary.add_packed(words + real);
  }
};

#endif

}  // namespace fanin::detail
